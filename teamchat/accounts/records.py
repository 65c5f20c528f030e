"""How users are read from their table.

A removed user is a row with `removed_at`; no function here ever returns one. A deactivated user has
`deactivated_at`: the account exists, and `account_by_id` and `account_by_email` find it, but it can't be
used; so the functions that ways to sign in use do not find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from teamchat.accounts.scopes import ADMIN
from teamchat.errors import Forbidden, Unauthorized
from teamchat.interfaces import Credential, Row, Transaction
from teamchat.model import Caller, User, text

if TYPE_CHECKING:
    from teamchat.capabilities.changes import TakesPart

_USER = "select id, user_name, email, is_admin, deactivated_at from users"


class Account(NamedTuple):
    """A user, and whether they are deactivated."""

    user: User
    is_deactivated: bool


def as_user(row: Row) -> User:
    """Make a `User` of ``id, user_name, email, is_admin``."""
    user_id, user_name, email, is_admin = row
    return User(user_id, user_name, email, bool(is_admin))


async def user_by_id(tx: Transaction, user_id: str) -> User | None:
    """Return a user who may sign in, or None for an unknown, removed or deactivated one."""
    return _active(await tx.fetch(f"{_USER} where id = $1 and removed_at is null", user_id))


async def user_by_email(tx: Transaction, email: str) -> User | None:
    """Return the user of an email, matched without regard to case (D-05), who may sign in; else None."""
    return _active(await tx.fetch(f"{_USER} where email_key = $1", text.fold(email)))


async def account_by_id(tx: Transaction, user_id: str) -> Account | None:
    """Return a user who is there, also a deactivated one."""
    return _account(await tx.fetch(f"{_USER} where id = $1 and removed_at is null", user_id))


async def account_by_email(tx: Transaction, email: str) -> Account | None:
    """Return the user of an email as `user_by_email` does, also a deactivated one."""
    return _account(await tx.fetch(f"{_USER} where email_key = $1", text.fold(email)))


async def is_bot_in(tx: Transaction, user_id: str) -> bool:
    """Return whether an account is a program's, to which nobody signs in (extension K-2)."""
    return bool(await tx.fetch("select 1 from users where id = $1 and is_bot = 1", user_id))


async def has_password_in(tx: Transaction, user_id: str) -> bool:
    """Return whether a user has a password, whatever they may sign in with."""
    return bool(await tx.fetch("select 1 from users where id = $1 and password_hash is not null", user_id))


async def own_row(tx: Transaction, caller: Caller) -> User:
    """Return the caller's row as it is now; raise `Unauthorized` if there is none any more."""
    user = await user_by_id(tx, caller.user.id)
    if user is None:
        raise Unauthorized
    return user


_CALLER = "u.id, u.user_name, u.email, u.is_admin, s.must_change_password, u.log_start, s.expires_at"
CALLER = f"""select {_CALLER} from sessions s join users u on u.id = s.user_id
where s.id = $1 and s.user_id = $2 and s.expires_at > $3 and u.removed_at is null
and u.deactivated_at is null"""  # noqa: S608
CALLERS = f"""with asked(place, session_id, user_id) as (values {{}}) select a.place, {_CALLER} from asked a
join sessions s on s.id = a.session_id and s.user_id = a.user_id join users u on u.id = s.user_id
where s.expires_at > $1 and u.removed_at is null and u.deactivated_at is null"""  # noqa: S608


async def find_caller(
    tx: Transaction, user_id: str, session_id: str, now: int, capabilities: TakesPart
) -> tuple[Caller, int]:
    """Return who acts in a session, and when it expires. Raises `Unauthorized` unless it is good `now`.

    It may be the id of a token, where one of `capabilities` keeps such; a bot's is good where there are bots
    (K-2).  Times are epoch milliseconds.
    """
    rows = await tx.fetch(CALLER, session_id, user_id, now)
    return await caller_of(tx, rows, user_id, session_id, now, capabilities)


async def caller_of(
    tx: Transaction, rows: Sequence[Row], user_id: str, session_id: str, now: int, capabilities: TakesPart
) -> tuple[Caller, int]:
    """Return what `find_caller` does, of the rows that `CALLER` has found."""
    if not rows:
        credentials = capabilities.credentials
        found = None if credentials is None else await credentials.by_id(tx, session_id)
        return await _holder(tx, found, user_id, now, has_bots=capabilities.has_bots)
    *user, must_change_password, log_start, expires_at = rows[0]
    return Caller(as_user(tuple(user)), session_id, bool(must_change_password), log_start), expires_at


async def _holder(
    tx: Transaction, found: Credential | None, user_id: str, now: int, *, has_bots: bool
) -> tuple[Caller, int]:
    """Return who has a token, as less than they are in a session."""
    if found is None or found.user_id != user_id or found.expires_at <= now:
        raise Unauthorized
    rows = await tx.fetch(
        """select id, user_name, email, is_admin, log_start, is_bot from users
           where id = $1 and removed_at is null and deactivated_at is null and (is_bot = 0 or $2 = 1)""",
        *(user_id, int(has_bots)),
    )
    if not rows:
        raise Unauthorized
    id_, user_name, email, is_admin, log_start, is_bot = rows[0]
    user = as_user((id_, user_name, email, is_admin and ADMIN in found.scopes))
    caller = Caller(
        *(user, found.id),
        log_start=log_start,
        scopes=found.scopes,
        places=found.places,
        is_bot=bool(is_bot),
    )
    return caller, found.expires_at


async def is_first_proof_in(tx: Transaction, user_id: str, *, is_invite_required: bool) -> bool:
    """Return whether a proof of a user's address, made now, ends what the account had before (D-40)."""
    rows = await tx.fetch("select email_proved_at from users where id = $1", user_id)
    if not rows or rows[0][0]:
        return False
    # Of users who were there before proofs were kept nobody knows who chose the password.  Where invites
    # are required it was an admin, or whom they invited.
    return not (rows[0][0] is not None and is_invite_required)


def _account(rows: Sequence[Row]) -> Account | None:
    if not rows:
        return None
    *user, deactivated_at = rows[0]
    return Account(as_user(tuple(user)), deactivated_at is not None)


def _active(rows: Sequence[Row]) -> User | None:
    account = _account(rows)
    return None if account is None or account.is_deactivated else account.user


def check_unchanged(caller: Caller, found: Caller) -> None:
    """Raise `Forbidden` if a caller, as they are found now, is an admin no longer (decision D-39)."""
    if caller.user.is_admin and not found.user.is_admin:
        raise Forbidden("You are no administrator any more. Try again.")


def check_admin(caller: Caller) -> None:
    """Raise `Forbidden` unless the caller is an admin."""
    if not caller.user.is_admin:
        raise Forbidden("Only an admin may do this.")
