"""The mails that wait to be sent, stored with the links they carry, in the transaction that caused them.

A mail is in the table exactly as long as it should still be sent: it is removed with its link when that is
used, replaced or expired, or when its user is removed. A process that sends a mail claims it first: its due
time moves ahead by a lease, so that no other server takes it meanwhile, and a crash gives it back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import trio
from msgspec import Struct

from teamchat.interfaces import Row, Storage, Transaction

LEASE_SECONDS = 15.0
LONGEST_PAUSE_SECONDS = 600.0
"""No mail is delayed for longer than this."""
# What is due later than this was written before the clock was set back.
_FARTHEST_SECONDS = LONGEST_PAUSE_SECONDS + 60.0
_IS_DUE = "(due_at <= $1 or due_at > $2 or tries = 0)"
# Of each requester as many as there are places: of one who asks for thousands, no more are looked at.
_DUE = f"""select l.id, l.purpose, l.email, l.created_at, l.expires_at, m.requester, m.is_decoy, m.tries + 1,
      m.refusals
    from (select mails.*, row_number() over (partition by requester order by tries, due_at, link_id) as turn
          from mails where {_IS_DUE}) m
    join links l on l.id = m.link_id
    where m.turn <= $3 order by m.tries, m.due_at, m.link_id"""  # noqa: S608


class QueuedMail(Struct, frozen=True):
    """A mail to be sent, and how that has gone so far; `tries` counts the one that was claimed."""

    link_id: str
    purpose: str
    email: str
    created_at: int
    expires_at: int
    requester: str
    is_decoy: bool
    tries: int
    refusals: int


Choose = Callable[[Sequence[QueuedMail], int], Sequence[QueuedMail]]
"""Chooses from the mails that are due those that take so many places."""


class Outbox:
    """The table ``mails``."""

    def __init__(self, storage: Storage, clock: Callable[[], int]) -> None:
        self._storage = storage
        self._clock = clock
        self._news = trio.Event()

    async def put_in(
        self, tx: Transaction, link_id: str, *, requester: str = "", is_decoy: bool = False
    ) -> None:
        """Queue the mail of a link, in a transaction that is open. A decoy is dropped instead of sent.

        `requester` is who asked for it, as `teamchat.accounts.mail_turns` names them.
        """
        await tx.fetch(
            "insert into mails (link_id, requester, is_decoy, due_at) values ($1, $2, $3, $4)",
            link_id,
            requester,
            int(is_decoy),
            self._clock(),
        )

    def announce(self) -> None:
        """Wake the sender: to be called once the transaction has committed."""
        self._news.set()

    async def wait(self, seconds: float) -> None:
        """Return when something was announced since the last call, at the latest after `seconds`."""
        with trio.move_on_after(seconds):
            await self._news.wait()
        self._news = trio.Event()

    async def due_in(self) -> float:
        """Return in how many seconds the next mail is due: 0 if one is due now, infinity without any."""
        async with self._storage.read() as tx:
            if await tx.fetch(f"select 1 from mails where {_IS_DUE} limit 1", *self._due()):  # noqa: S608
                return 0.0
            [(first,)] = await tx.fetch("select min(due_at) from mails")
        return math.inf if first is None else max(0.0, (first - self._clock()) / 1000)

    async def waiting(self) -> int:
        """Return how many mails wait to be sent."""
        async with self._storage.read() as tx:
            [(count,)] = await tx.fetch("select count(*) from mails where is_decoy = 0")
        return int(count)

    async def claim(self, most: int, choose: Choose = lambda due, most: due[:most]) -> list[QueuedMail]:
        """Take up to `most` mails that are due, and lease them.

        `choose` is given those that are due, of each requester `most` at most; those come first that were
        tried least.
        """
        async with self._storage.write() as tx:
            rows = await tx.fetch(_DUE, *self._due(), most)
            claimed = list(choose([_as_mail(row) for row in rows], most))
            for mail in claimed:
                await tx.fetch(
                    "update mails set due_at = $2, tries = $3 where link_id = $1",
                    mail.link_id,
                    self._in(LEASE_SECONDS),
                    mail.tries,
                )
        return claimed

    async def hold(self, mail: QueuedMail) -> None:
        """Lease a claimed mail for longer."""
        await self.delay(mail, LEASE_SECONDS)

    async def sent(self, mail: QueuedMail) -> None:
        """Forget a mail that was sent. Its link stays."""
        await self._write("delete from mails where link_id = $1", mail.link_id)

    async def delay(self, mail: QueuedMail, seconds: float) -> None:
        """Have a mail tried again in `seconds`."""
        await self._write("update mails set due_at = $2 where link_id = $1", mail.link_id, self._in(seconds))

    async def refused(self, mail: QueuedMail, seconds: float) -> None:
        """Note that a mail was refused for good, and have it tried again in `seconds` nevertheless."""
        await self._write(
            "update mails set due_at = $2, refusals = $3 where link_id = $1",
            mail.link_id,
            self._in(seconds),
            mail.refusals + 1,
        )

    async def drop(self, mail: QueuedMail) -> None:
        """Forget a mail that will not be sent. Its link stays, and so does a decoy's.

        The next link takes its place, and how long that takes must not give away who has one (D-16).
        """
        await self._write("delete from mails where link_id = $1", mail.link_id)

    def age(self, mail: QueuedMail) -> float:
        """Return for how many seconds a mail has waited."""
        return max(0.0, (self._clock() - mail.created_at) / 1000)

    def has_expired(self, mail: QueuedMail) -> bool:
        """Return whether the link of a mail works no longer."""
        return mail.expires_at <= self._clock()

    def _due(self) -> tuple[int, int]:
        return self._clock(), self._in(_FARTHEST_SECONDS)

    def _in(self, seconds: float) -> int:
        return self._clock() + math.ceil(seconds * 1000)

    async def _write(self, sql: str, *params: str | int) -> None:
        async with self._storage.write() as tx:
            await tx.fetch(sql, *params)


def _as_mail(row: Row) -> QueuedMail:
    link_id, purpose, email, created_at, expires_at, requester, is_decoy, tries, refusals = row
    return QueuedMail(
        link_id, purpose, email, created_at, expires_at, requester, bool(is_decoy), tries, refusals
    )
