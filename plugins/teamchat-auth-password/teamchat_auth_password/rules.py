"""Passwords: signing in with one, and setting one by a link (interface, part 4 and part 5 rules 3 to 8).

An unknown email, a user without a password and a wrong password cost the same and
are answered the same (D-16); a session is started only if the password that was checked is still the
user's in the transaction that starts it, so that a new password shuts out who knows the old one; and a
link is spent in the transaction that stores the new password, which ends all other sessions and links of
the user (D-17).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from teamchat import (
    BadRequest,
    Forbidden,
    Transaction,
    Unauthorized,
)
from teamchat.accounts import (
    Accounts,
    Attempt,
    Purpose,
    RegistrationLimit,
    account_by_email,
    attempt,
    check_password,
    is_same,
    network_requester,
    telling,
    unusable,
    user_by_email,
)
from teamchat.model import Caller, SignedIn, text
from teamchat.observability.logs import get_logger

WAY: Final = "password"
"""How the log calls signing in with one."""
_SETTING_UP: Final[tuple[Purpose, ...]] = ("invite", "reset")

_log = get_logger(__name__)


class Passwords:
    """Password sign-in, self-registration, and links to a new password."""

    def __init__(self, accounts: Accounts) -> None:
        self._storage = accounts.storage
        self._auth = accounts.settings
        self._users = accounts.users
        self._sessions = accounts.sessions
        self._limits = accounts.limits
        self._mail_limits = accounts.mail_limits
        self._registration_limit = RegistrationLimit(self._auth.rate_limit, accounts.clock)
        self._hasher = accounts.hasher
        self._links = accounts.links
        self._proofs = accounts.proofs
        self._second_steps = accounts.second_steps
        self._has_mail = accounts.has_mail

    async def login(
        self, email: str, password: str, ip: str, user_agent: str, code: str | None = None
    ) -> SignedIn:
        """Sign in. Raises `Unauthorized` for wrong credentials, `TooManyRequests` beyond the limits.

        Only who has the password right is told whether a second factor is wanted, by `SecondFactorNeeded`.
        """
        tried = attempt(email, ip, WAY)
        found = await self._verified(tried, password)
        passed = await self._second_steps.verify(tried, found.user_id, code)
        async with self._storage.write() as tx:
            await self._hold(tx, tried, found)
            must_change = self._auth.must_change_set_passwords and found.from_admin
            signed_in = await self._sessions.start_in(
                tx, found.user_id, ip, user_agent, must_change_password=must_change, passed=passed
            )
        _log.info("signed in", user=found.user_id, way=tried.way, ip=ip)
        return signed_in

    async def change(self, caller: Caller, password: str, new_password: str, ip: str) -> None:
        """Give the caller another password, which ends their other sessions and their links (D-17, D-43).

        Raises `BadRequest` for a new one that can't be a password or is the present one, `Unauthorized` for a
        wrong present one, `TooManyRequests` beyond the limits on signing in.
        """
        check_password(new_password, "newPassword")
        if is_same(password, new_password):
            raise BadRequest("newPassword is the same as password.")
        tried = attempt(caller.user.email, ip, "change of password")
        found = await self._verified(tried, password)
        password_hash = await self._hasher.hash(new_password)
        async with self._storage.write() as tx:
            await self._hold(tx, tried, found)
            await self._sessions.password_changed_in(tx, caller)
            await self._users.set_password_in(tx, caller.user.id, password_hash, keep=caller.session_id)
        _log.info("password changed", user=caller.user.id, by=caller.user.id)

    async def register(self, email: str, password: str, ip: str, user_agent: str) -> SignedIn:
        """Create a user with a password and sign them in (interface, part 5 rule 6).

        Raises `Forbidden` when invites are required, `BadRequest` for a bad or taken email or password,
        `TooManyRequests` for an address that registers too often.
        """
        if self._auth.is_invite_required:
            raise Forbidden("Only an admin may add users.")
        text.email(email)
        async with self._storage.write() as tx:
            await self._registration_limit.admit_in(tx, ip)
            is_taken = await account_by_email(tx, email) is not None
        if is_taken:
            raise BadRequest("A user with this email exists already.")
        password_hash = await self._hasher.hash(password)
        async with self._storage.write() as tx:
            user = await self._users.create_in(tx, email, password_hash=password_hash)
            signed_in = await self._sessions.start_in(tx, user.id, ip, user_agent)
        _log.info("signed in", user=user.id, way="registration", ip=ip)
        return signed_in

    async def request_reset(self, email: str, ip: str) -> None:
        """Queue a link to a new password for an account that has one; nobody is told whether that is so.

        Without mail nothing happens (part 5, rule 7).  Raises `BadRequest` for what can't be an email,
        `TooManyRequests` for an address that asks too often.
        """
        text.email(email)
        if not self._has_mail:
            return
        async with self._storage.write() as tx:
            if await self._mail_limits.admit_in(tx, email, ip):
                owner = await _owner_of_password(tx, email)
                await self._links.issue_in(
                    tx, "reset", owner or email, requester=network_requester(ip), is_decoy=owner is None
                )
        self._links.announce()

    async def set_up(
        self, email: str, token: str, password: str, ip: str, user_agent: str, code: str | None = None
    ) -> SignedIn:
        """Set the password of whoever holds an invitation or a reset link, and sign them in.

        The user's other sessions and links end (D-17).  Raises `BadRequest` for a password that can't be
        one, which leaves the link good, and for a token that does not work; `SecondFactorNeeded` for who has
        a second factor, which leaves it good, too; `TooManyRequests` beyond the limits.
        """
        check_password(password)
        tried = attempt(email, ip, "link to a new password")
        async with self._limits.guarding(tried):
            await self._links.check(_SETTING_UP, email, token)
            async with self._storage.read() as tx:
                user = await user_by_email(tx, email)
            passed = await self._proofs.verify(tried, user.id if user else None, code)
            password_hash = await self._hasher.hash(password)
            async with self._storage.write() as tx:
                await self._limits.succeed_in(tx, tried)
                user_id = await self._spend(tx, email, token)
                has_ended = await self._proofs.note_in(tx, user_id)
                await self._users.set_password_in(tx, user_id, password_hash)
                started = await self._sessions.start_in(tx, user_id, ip, user_agent, passed=passed)
                signed_in = telling(started, has_ended)
        _log.info("password changed", user=user_id, by=user_id)
        _log.info("signed in", user=user_id, way=tried.way, ip=ip)
        return signed_in

    async def _spend(self, tx: Transaction, email: str, token: str) -> str:
        """Spend the token and return whose it was."""
        user = await user_by_email(tx, email)
        if user is None:
            raise unusable()
        await self._links.spend_in(tx, _SETTING_UP, email, token)
        return user.id

    async def _verified(self, tried: Attempt, password: str) -> _Credentials:
        """Return the credentials that a password fits; a wrong one is counted, and is `Unauthorized`."""
        await self._limits.check(tried)
        async with self._storage.read() as tx:
            found = await _credentials(tx, tried)
        if not await self._hasher.matches(found.password_hash if found else None, password) or found is None:
            await self._limits.fail(tried)
            raise _wrong()
        return found

    async def _hold(self, tx: Transaction, tried: Attempt, found: _Credentials) -> None:
        """Raise if verified credentials are others by now: checking a password took a while."""
        await self._limits.succeed_in(tx, tried)
        if await _credentials(tx, tried) != found:
            raise _wrong()


class _Credentials(NamedTuple):
    """What a password is checked against. `from_admin` says that an admin set it."""

    user_id: str
    password_hash: str | None
    from_admin: bool


async def _credentials(tx: Transaction, tried: Attempt) -> _Credentials | None:
    """Return the credentials of the account, or None."""
    rows = await tx.fetch(
        """select id, password_hash, password_from_admin from users
           where email_key = $1 and deactivated_at is null""",
        tried.email_key,
    )
    return _Credentials(rows[0][0], rows[0][1], bool(rows[0][2])) if rows else None


async def _owner_of_password(tx: Transaction, email: str) -> str | None:
    """Return the email of an account that has a password, as the account spells it."""
    rows = await tx.fetch(
        """select email from users
           where email_key = $1 and password_hash is not null and deactivated_at is null""",
        text.fold(email),
    )
    return rows[0][0] if rows else None


def _wrong() -> Unauthorized:
    return Unauthorized("The email or the password is wrong.")
