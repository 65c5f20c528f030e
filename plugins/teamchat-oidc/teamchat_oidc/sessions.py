"""Which sessions were begun at a provider, so that it can end them (Back-Channel Logout 1.0, section 2.7).

A logout is remembered for a while: its token works once, and a sign-in that was under way when the provider
ended the session comes too late.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from teamchat import Changes, Transaction
from teamchat.accounts import keys

if TYPE_CHECKING:
    from teamchat.accounts import Accounts
    from teamchat_oidc.tokens import Logout

KEPT_MS = 3_600_000
"""Longer than tokens are believed (`tokens.OLDEST_SECONDS`), with all leeway."""


class Begun(NamedTuple):
    """A sign-in; `session_id` is None where the session begins later."""

    provider: str
    subject: str
    sid: str
    user_id: str
    session_id: str | None


async def note_in(tx: Transaction, begun: Begun, now: int) -> None:
    """Remember where a session was begun."""
    await tx.fetch(
        """insert into oidc_sessions (id, provider, subject, sid, user_id, session_id, created_at)
           values ($1, $2, $3, $4, $5, $6, $7)""",
        secrets.token_hex(16),
        *begun,
        now,
    )


async def provider_of(tx: Transaction, session_id: str) -> str | None:
    """Return the provider at which a session was begun, or None.

    Where a second factor came between, it is the one at which its user has begun.
    """
    rows = await tx.fetch(
        """select o.provider from oidc_sessions o join sessions s on s.user_id = o.user_id
           where s.id = $1 and (o.session_id = s.id or o.session_id is null)
           order by o.session_id is null, o.created_at desc limit 1""",
        session_id,
    )
    return rows[0][0] if rows else None


async def is_over_in(tx: Transaction, provider: str, subject: str, sid: str, issued_at: int) -> bool:
    """Return whether the provider has ended already what an ID token of this moment (seconds) is about."""
    return bool(
        await tx.fetch(
            """select 1 from oidc_logouts where provider = $1
               and ((sid <> '' and sid = $2) or (sid = '' and subject = $3 and issued_at >= $4))""",
            provider,
            sid,
            subject,
            issued_at,
        )
    )


async def end_in(tx: Transaction, accounts: Accounts, provider: str, logout: Logout) -> tuple[int, bool]:
    """Do what a logout token says; return how many sessions have ended, and whether it was the first time."""
    now = accounts.clock()
    is_first = await tx.fetch(
        """insert into oidc_logouts (provider, token_hash, subject, sid, issued_at, heard_at)
           values ($1, $2, $3, $4, $5, $6)
           on conflict (provider, token_hash) do nothing returning heard_at""",
        provider,
        keys.digest(logout.token_id),
        logout.subject,
        logout.sid,
        logout.issued_at,
        now,
    )
    if not is_first:
        return 0, False
    rows = await tx.fetch(
        """select id, user_id, session_id from oidc_sessions where provider = $1
           and ($2 = '' or subject = $2) and ($3 = '' or sid = $3)""",
        provider,
        logout.subject,
        logout.sid,
    )
    for id_, _, _ in rows:
        await tx.fetch("delete from oidc_sessions where id = $1", id_)
    ended = 0
    for user_id in dict.fromkeys(user_id for _, user_id, _ in rows):
        begun = [session_id for _, whose, session_id in rows if whose == user_id]
        if None in begun:  # Nobody knows which came of it.
            ended += await accounts.sessions.end_all_in(tx, user_id)
        else:
            ended += await accounts.sessions.end_in(tx, user_id, begun)
    return ended, True


class Ends(Changes):
    """Forgets where a session was begun when it is ended, and all of a user who is no more."""

    async def sessions_ended(
        self, tx: Transaction, user_id: str, session_ids: Sequence[str], kept: str | None
    ) -> None:
        if kept is None:
            for session_id in session_ids:
                await tx.fetch("delete from oidc_sessions where session_id = $1", session_id)
        else:
            await tx.fetch(
                """delete from oidc_sessions
                   where user_id = $1 and session_id is not null and session_id <> $2""",
                user_id,
                kept,
            )

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        # Also what waits for a second factor, which no session leads to.
        await tx.fetch("delete from oidc_sessions where user_id = $1", user_id)


async def sweep(accounts: Accounts) -> None:
    """Remove what has had its time."""
    now = accounts.clock()
    async with accounts.storage.write() as tx:
        await tx.fetch("delete from oidc_logouts where heard_at < $1", now - KEPT_MS)
        await tx.fetch(
            """delete from oidc_sessions where session_id is not null
               and not exists (select 1 from sessions where id = oidc_sessions.session_id)"""
        )
        await tx.fetch(
            "delete from oidc_sessions where session_id is null and created_at < $1",
            now - accounts.settings.max_session_seconds * 1000,
        )
