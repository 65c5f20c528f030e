"""How often somebody may guess, and how often mail may be asked for (decision D-18).

Failures are counted in windows (`auth.rateLimit`: 10 in 15 minutes), in the database, so that a restart
forgives nothing. Three counters work together:

* ``address``: every failure of a client address, for any account. IPv6 addresses count by /64, which is what
  one customer holds. At the limit the address is blocked, even with the right password.
* ``pair``: the failures of one account at one address. The right password subtracts them from the address's
  counter, so that a forgetful user does not use up the limit of their whole office; but nobody can subtract
  failures at accounts that are not theirs.
* ``account``: the addresses at which an account failed, each counted once. At the limit the account is
  blocked, except at addresses it is signed in from. So many addresses together can't go on guessing, while a
  blocked address by itself shuts nobody out: the right password from another address still works.

A blocked attempt is neither checked nor counted. Mails are counted separately from failures, whether or not
the email has an account, so that the limit gives nothing away; so are registrations. Accounts are stored as
hashes, because people type passwords into the email field.
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from teamchat.accounts import keys
from teamchat.accounts.audit import note_failure
from teamchat.accounts.counters import Counters
from teamchat.errors import BadRequest
from teamchat.interfaces import Storage, Transaction
from teamchat.model import text
from teamchat.observability.logs import get_logger

if TYPE_CHECKING:
    from teamchat.settings import RateLimit

# One address may be an office: it may ask for ten times the mails of one account.
_ACCOUNTS_AT_AN_ADDRESS: Final = 10
# It may be a school on its first day, too: by default a thousand register in a quarter of an hour, and a bot
# is held to what one can look through.
_USERS_AT_AN_ADDRESS: Final = 100

_log = get_logger(__name__)


class Attempt(NamedTuple):
    """Who tries to be whom from where, and how. `email_key` is None for what can't be an email."""

    email_key: str | None
    ip: str
    way: str

    @property
    def network(self) -> str:
        return network_of(self.ip)

    @property
    def address_subject(self) -> str:
        return f"address:{self.network}"

    @property
    def account_subject(self) -> str:
        return f"account:{keys.digest(self.email_key or '')}"

    @property
    def pair_subject(self) -> str:
        return f"pair:{keys.digest(self.email_key or '')}:{self.network}"


def attempt(email: str, ip: str, way: str) -> Attempt:
    """Make an `Attempt`; two spellings of one email are one account. `way` is for the log."""
    try:
        return Attempt(text.fold(text.email(email)), ip, way)
    except BadRequest:
        return Attempt(None, ip, way)


class Limits:
    """The limits on failures, kept in the table ``attempts``."""

    def __init__(self, storage: Storage, limit: RateLimit, clock: Callable[[], int]) -> None:
        self._storage = storage
        self._most = limit.attempts
        self._counters = Counters(limit, clock)

    async def check(self, attempt: Attempt) -> None:
        """Raise `TooManyRequests` if the attempt is blocked: to be asked before any costly work."""
        async with self._storage.read() as tx:
            await self._refuse_blocked(tx, attempt)

    async def fail(self, attempt: Attempt) -> None:
        """Count a failure. Raises `TooManyRequests` if others reached the limit meanwhile."""
        async with self._storage.write() as tx:
            await self.fail_in(tx, attempt)
        _log.info("sign-in failed", way=attempt.way, ip=attempt.ip)

    async def fail_in(self, tx: Transaction, attempt: Attempt, **details: Any) -> None:
        """Do what `fail` does, in a transaction that is open. `details` are for the audit log."""
        await self._refuse_blocked(tx, attempt)
        await self._counters.add(tx, attempt.address_subject)
        if attempt.email_key is not None and await self._counters.add(tx, attempt.pair_subject) == 1:
            await self._counters.add(tx, attempt.account_subject)
        user_id = await _account_of(tx, attempt.email_key)
        await note_failure(tx, user_id, ip=attempt.ip, way=attempt.way, **details)

    async def refuse_in(self, tx: Transaction, attempt: Attempt) -> None:
        """Raise `TooManyRequests` if the attempt is blocked, as a transaction that is open sees it."""
        await self._refuse_blocked(tx, attempt)

    @asynccontextmanager
    async def guarding(self, attempt: Attempt) -> AsyncIterator[None]:
        """Let a token be tried: `check` first, and a `BadRequest` of the body's is counted as a failure."""
        await self.check(attempt)
        try:
            yield
        except BadRequest:
            await self.fail(attempt)
            raise

    async def succeed_in(self, tx: Transaction, attempt: Attempt) -> None:
        """Take back the failures of this account at this address, in the transaction that signs it in.

        Raises `TooManyRequests` if the limit was reached while the attempt was checked: of guesses made
        at once no more than the limit are answered.
        """
        await self._refuse_blocked(tx, attempt)
        if failures := await self._counters.count(tx, attempt.pair_subject):
            await tx.fetch("delete from attempts where subject = $1", attempt.pair_subject)
            await self._counters.take_back(tx, attempt.address_subject, failures)
            await self._counters.take_back(tx, attempt.account_subject, 1)

    async def sweep(self) -> None:
        """Remove the counters whose window has passed."""
        await self._counters.sweep(self._storage)

    async def _refuse_blocked(self, tx: Transaction, attempt: Attempt) -> None:
        await self._counters.refuse_full(tx, attempt.address_subject, self._most)
        if attempt.email_key is not None and not await _is_signed_in_from(tx, attempt):
            await self._counters.refuse_full(tx, attempt.account_subject, self._most)


class MailLimits:
    """The limits on asking for mail, so that nobody's mailbox is filled: by email, and by client address."""

    def __init__(self, limit: RateLimit, clock: Callable[[], int]) -> None:
        self._most = limit.attempts
        self._counters = Counters(limit, clock)

    async def admit_in(self, tx: Transaction, email: str, ip: str) -> bool:
        """Count a request for mail; return whether one is to be sent, in a transaction that is open.

        An email beyond its limit is to be answered like any other.  Raises `TooManyRequests` for an
        address beyond its own.
        """
        address, account = f"mails-from:{network_of(ip)}", f"mails-to:{keys.digest(text.fold(email))}"
        await self._counters.admit(tx, address, self._most * _ACCOUNTS_AT_AN_ADDRESS)
        return await self._counters.add(tx, account) <= self._most


class RegistrationLimit:
    """The limit on registering, by client address: no bot makes users, or asks who is one, for long."""

    def __init__(self, limit: RateLimit, clock: Callable[[], int]) -> None:
        self._most = limit.attempts * _USERS_AT_AN_ADDRESS
        self._counters = Counters(limit, clock)

    async def admit_in(self, tx: Transaction, ip: str) -> None:
        """Count an attempt, in a transaction that commits; raise `TooManyRequests` for one too many."""
        subject = f"registrations:{network_of(ip)}"
        await self._counters.admit(tx, subject, self._most)


def network_of(ip: str) -> str:
    """Return what an address counts as: itself for IPv4, its /64 for IPv6."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ip
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


async def _account_of(tx: Transaction, email_key: str | None) -> str | None:
    rows = await tx.fetch("select id from users where email_key = $1", email_key)
    return rows[0][0] if rows else None


async def _is_signed_in_from(tx: Transaction, attempt: Attempt) -> bool:
    rows = await tx.fetch(
        "select s.ip from users u join sessions s on s.user_id = u.id where u.email_key = $1",
        attempt.email_key,
    )
    return any(network_of(ip) == attempt.network for (ip,) in rows)
