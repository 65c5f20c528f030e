"""Who is who: an identity is a provider and a subject there, and belongs to one user.

A known identity is its user, whatever email the provider tells by now (OpenID Connect Core, section 5.7).
An unknown one is the user of its email, who is created if that is allowed (interface, part 5 rules 10, 13
and 14), and is known from then on.  The identities of a user who is gone are nobody's.
"""

from __future__ import annotations

from teamchat import OAuthFailed, Profile, Transaction, Unauthorized
from teamchat.accounts import Users, as_user
from teamchat.model import User, text


async def user_in(
    tx: Transaction, users: Users, provider: str, profile: Profile, now: int, *, is_only: bool = False
) -> User:
    """Return whose identity this is, in a transaction that is open; it knows them from now on.

    With `is_only` a user has one identity at a provider: another subject with their email is another person,
    who may have been given the address of somebody who left (extension M).

    Raises `OAuthFailed` with ``user_not_found`` if it is nobody's and invites are required, if its user is
    deactivated, or if it is another person.
    """
    known = await _known(tx, provider, profile.subject)
    if known is not None:
        return known
    user = await _user_by_email(tx, users, profile.email)
    if is_only and await tx.fetch(
        "select 1 from identities where provider = $1 and user_id = $2", provider, user.id
    ):
        raise OAuthFailed("user_not_found")
    await _link(tx, provider, profile.subject, user, now)
    return user


async def _known(tx: Transaction, provider: str, subject: str) -> User | None:
    rows = await tx.fetch(
        """select u.id, u.user_name, u.email, u.is_admin, u.deactivated_at from identities i
           join users u on u.id = i.user_id
           where i.provider = $1 and i.subject = $2 and u.removed_at is null""",
        provider,
        subject,
    )
    if not rows:
        return None
    *user, deactivated_at = rows[0]
    if deactivated_at is not None:  # Whatever email the provider tells by now, they are nobody else.
        raise OAuthFailed("user_not_found")
    return as_user(tuple(user))


async def _user_by_email(tx: Transaction, users: Users, email: str) -> User:
    try:
        user = await users.find_or_create_in(tx, email)
    except Unauthorized as error:
        raise OAuthFailed("user_not_found") from error
    if not text.is_same_mailbox(user.email, email):  # The provider vouches for one of them.
        raise OAuthFailed("user_not_found")
    return user


async def _link(tx: Transaction, provider: str, subject: str, user: User, now: int) -> None:
    await tx.fetch(
        """insert into identities (provider, subject, user_id, created_at) values ($1, $2, $3, $4)
           on conflict (provider, subject) do update
           set user_id = excluded.user_id, created_at = excluded.created_at""",
        provider,
        subject,
        user.id,
        now,
    )
