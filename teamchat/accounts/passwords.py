"""Signing in with a password (interface, part 4 and part 5 rules 3 to 8; decisions D-16, D-17, D-18).

What must stay true: an unknown email, a user without a password and a wrong password cost the same and
are answered the same; and a session is started only if the password that was checked is still the
user's in the transaction that starts it, so that a new password shuts out who knows the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat import text
from teamchat.accounts.attempts import Attempt, Limits, attempt
from teamchat.accounts.records import user_by_email, user_lock
from teamchat.accounts.scrypt import Hasher
from teamchat.accounts.sessions import Sessions
from teamchat.accounts.users import Users
from teamchat.errors import BadRequest, Forbidden, Unauthorized
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import SignedIn

if TYPE_CHECKING:
    from teamchat.settings import AuthSettings


class Passwords:
    """Password sign-in and self-registration."""

    def __init__(
        self,
        storage: Storage,
        auth: AuthSettings,
        users: Users,
        sessions: Sessions,
        limits: Limits,
        hasher: Hasher,
    ) -> None:
        self._storage = storage
        self._auth = auth
        self._users = users
        self._sessions = sessions
        self._limits = limits
        self._hasher = hasher

    async def login(self, email: str, password: str, ip: str, user_agent: str) -> SignedIn:
        """Sign in. Raises `Unauthorized` for wrong credentials, `TooManyRequests` beyond the limits."""
        tried = attempt(email, ip)
        await self._limits.check(tried)
        found = await self._find(tried)
        if not await self._hasher.matches(found[1] if found else None, password) or found is None:
            await self._limits.fail(tried)
            raise _wrong()
        async with self._storage.write() as tx:
            await self._limits.succeed_in(tx, tried)
            await tx.lock(user_lock(found[0]))
            if await _credentials(tx, tried) != found:
                raise _wrong()
            return await self._sessions.start_in(tx, found[0], ip, user_agent)

    async def register(self, email: str, password: str, ip: str, user_agent: str) -> SignedIn:
        """Create a user with a password and sign them in (interface, part 5 rule 6).

        Raises `Forbidden` when invites are required, `BadRequest` for a bad or taken email or password.
        """
        if self._auth.is_invite_required:
            raise Forbidden("Only an admin may add users.")
        text.email(email)
        async with self._storage.read() as tx:
            if await user_by_email(tx, email) is not None:
                raise BadRequest("A user with this email exists already.")
        password_hash = await self._hasher.hash(password)
        async with self._storage.write() as tx:
            user = await self._users.create_in(tx, email, password_hash=password_hash)
            return await self._sessions.start_in(tx, user.id, ip, user_agent)

    async def _find(self, tried: Attempt) -> Row | None:
        async with self._storage.read() as tx:
            return await _credentials(tx, tried)


async def _credentials(tx: Transaction, tried: Attempt) -> Row | None:
    """Return ``(id, password_hash)`` of the account, or None."""
    rows = await tx.fetch("select id, password_hash from users where email_key = $1", tried.email_key)
    return rows[0] if rows else None


def _wrong() -> Unauthorized:
    return Unauthorized("The email or the password is wrong.")
