"""How often somebody may guess: limits on failed passwords and tokens (decision D-18).

Failures are counted in windows (`auth.rateLimit`: 10 in 15 minutes), in the database, so that a restart
forgives nothing.  Three counters hang together:

* ``address``: every failure of a client address, for whatever account.  IPv6 addresses count by /64,
  which is what one customer holds.  At the limit the address is blocked, with the right password too.
* ``pair``: the failures of one account at one address.  A right password takes them back from the
  address's counter, so that a forgetful user does not use up the limit of their whole office; but nobody
  can take back failures at accounts that are not theirs.
* ``account``: the addresses at which an account failed, each counted once.  At the limit the account is
  blocked, except at addresses it is signed in from.  So many addresses together can't guess on, while a
  blocked address by itself shuts nobody out: the right password from another address still works.

A blocked attempt is neither checked nor counted.  Accounts are kept as hashes: people type passwords
into the email field.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from teamchat import text
from teamchat.errors import BadRequest, TooManyRequests
from teamchat.interfaces import Storage, Transaction

if TYPE_CHECKING:
    from teamchat.settings import RateLimit


class Attempt(NamedTuple):
    """Who tries to be whom from where. `email_key` is None for what can't be an email."""

    email_key: str | None
    ip: str

    @property
    def network(self) -> str:
        return network_of(self.ip)

    @property
    def address_subject(self) -> str:
        return f"address:{self.network}"

    @property
    def account_subject(self) -> str:
        return f"account:{_digest(self.email_key or '')}"

    @property
    def pair_subject(self) -> str:
        return f"pair:{_digest(self.email_key or '')}:{self.network}"


def attempt(email: str, ip: str) -> Attempt:
    """Make an `Attempt`; two spellings of one email are one account."""
    try:
        return Attempt(text.fold(text.email(email)), ip)
    except BadRequest:
        return Attempt(None, ip)


class Limits:
    """The limits on failures, kept in the table ``attempts``."""

    def __init__(self, storage: Storage, limit: RateLimit, clock: Callable[[], int]) -> None:
        self._storage = storage
        self._most = limit.attempts
        self._window_ms = limit.window_seconds * 1000
        self._clock = clock

    async def check(self, attempt: Attempt) -> None:
        """Raise `TooManyRequests` if the attempt is blocked: to be asked before any costly work."""
        async with self._storage.read() as tx:
            await self._refuse_blocked(tx, attempt)

    async def fail(self, attempt: Attempt) -> None:
        """Count a failure. Raises `TooManyRequests` if others reached the limit meanwhile."""
        async with self._storage.write() as tx:
            await self._settle(tx, attempt)
            await self._add(tx, attempt.address_subject)
            if attempt.email_key is not None and await self._add(tx, attempt.pair_subject) == 1:
                await self._add(tx, attempt.account_subject)

    async def succeed_in(self, tx: Transaction, attempt: Attempt) -> None:
        """Take back the failures of this account at this address, in the transaction that signs it in.

        Raises `TooManyRequests` if the limit was reached while the attempt was checked: of guesses made
        at once no more than the limit are answered.
        """
        await self._settle(tx, attempt)
        if failures := await self._failures(tx, attempt.pair_subject):
            await tx.fetch("delete from attempts where subject = $1", attempt.pair_subject)
            await self._take_back(tx, attempt.address_subject, failures)
            await self._take_back(tx, attempt.account_subject, 1)

    async def sweep_in(self, tx: Transaction) -> None:
        """Remove the counters whose window has passed."""
        await tx.fetch("delete from attempts where window_start <= $1", self._clock() - self._window_ms)

    async def _settle(self, tx: Transaction, attempt: Attempt) -> None:
        await tx.lock(attempt.account_subject)
        await tx.lock(attempt.address_subject)
        await self._refuse_blocked(tx, attempt)

    async def _refuse_blocked(self, tx: Transaction, attempt: Attempt) -> None:
        await self._refuse_full(tx, attempt.address_subject)
        if attempt.email_key is not None and not await _is_signed_in_from(tx, attempt):
            await self._refuse_full(tx, attempt.account_subject)

    async def _refuse_full(self, tx: Transaction, subject: str) -> None:
        since = self._clock() - self._window_ms
        rows = await tx.fetch(
            "select window_start from attempts where subject = $1 and window_start > $2 and failures >= $3",
            subject,
            since,
            self._most,
        )
        if rows:
            raise TooManyRequests(retry_after=-((since - rows[0][0]) // 1000))

    async def _failures(self, tx: Transaction, subject: str) -> int:
        rows = await tx.fetch(
            "select failures from attempts where subject = $1 and window_start > $2",
            subject,
            self._clock() - self._window_ms,
        )
        return int(rows[0][0]) if rows else 0

    async def _add(self, tx: Transaction, subject: str) -> int:
        now = self._clock()
        [(failures,)] = await tx.fetch(
            """insert into attempts (subject, window_start, failures) values ($1, $2, 1)
               on conflict (subject) do update set
                 failures = case when attempts.window_start <= $3 then 1 else attempts.failures + 1 end,
                 window_start = case when attempts.window_start <= $3 then $2 else attempts.window_start end
               returning failures""",
            subject,
            now,
            now - self._window_ms,
        )
        return int(failures)

    async def _take_back(self, tx: Transaction, subject: str, failures: int) -> None:
        await tx.fetch(
            """update attempts set failures = case when failures > $2 then failures - $2 else 0 end
               where subject = $1""",
            subject,
            failures,
        )


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


async def _is_signed_in_from(tx: Transaction, attempt: Attempt) -> bool:
    rows = await tx.fetch(
        """select 1 from users u join sessions s on s.user_id = u.id
           where u.email_key = $1 and s.ip = $2 limit 1""",
        attempt.email_key,
        attempt.ip,
    )
    return bool(rows)


def _digest(email_key: str) -> str:
    return hashlib.sha256(email_key.encode()).hexdigest()
