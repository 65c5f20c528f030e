"""What is to be sent: from the log of events to one row a message and device (extensions J-2, J-3).

The event of a message stands in the log with it, so nothing more is written when somebody posts.  Whoever
holds the lease reads the log and writes the rows, some at a time.  They stay for a week with what became of
them, so an event that is read again after a crash adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import trio
from msgspec import UNSET, Struct, UnsetType

from teamchat import LoggedEvent, Noticed, Notices, Transaction
from teamchat.model import now_ms
from teamchat.storage.statements import chunks, flat, in_pieces, values
from teamchat_web_push.ends import Ends
from teamchat_web_push.payload import MOST_SUMMED
from teamchat_web_push.subscriptions import DEVICE, Device

if TYPE_CHECKING:
    from teamchat import Storage

KEPT_MS = 7 * 24 * 3600 * 1000
"""How long it is known what became of a push."""
LATEST_MS = 24 * 3600 * 1000
"""What is older is not pushed any more."""
_ROWS_AT_ONCE = 256
_REMOVED_AT_ONCE = 2000
_OF_USERS = "select id, user_id from web_push_subscriptions where created_at <= $1 and user_id in ({})"
_ANY = "select 1 from web_push_subscriptions limit 1"
_TOLD = """select subscription_id from web_push_queue where message_id = $1 and kind <> 'reminder'
and reached <> $2 and outcome = 'sent' {among}"""
_SHOWN = f"""q.message_id, q.reached, q.kind, q.since, q.due_at, q.tries, q.is_delayed, q.is_held,
q.is_bare, {DEVICE}"""
_DUE = f"""select {_SHOWN} from web_push_queue q join web_push_subscriptions s on s.id = q.subscription_id
where q.outcome is null and q.due_at <= $1 {{but}} order by q.due_at limit $2"""  # noqa: S608
# Device by device, that first which has waited longest; of each the newest.
_HELD = f"""select {_SHOWN} from (select *,
row_number() over (partition by subscription_id order by reached desc) as place,
min(due_at) over (partition by subscription_id) as first_due from web_push_queue
where outcome is null and due_at <= $1 and is_held = 1 and subscription_id in ({{}})) q
join web_push_subscriptions s on s.id = q.subscription_id where q.place <= $2
order by q.first_due, q.subscription_id, q.place limit $3"""  # noqa: S608
_LEAVE_OUT = """update web_push_queue set outcome = 'skipped', reason = 'older', decided_at = $1
where outcome is null and due_at <= $1 and is_held = 1 and subscription_id = $2 and reached < $3"""
_OLD = """delete from web_push_queue where message_id = $1 and subscription_id = $2 and reached = $3"""
_FIND_OLD = """select message_id, subscription_id, reached from web_push_queue
where outcome is not null and decided_at < $1 order by decided_at limit $2"""
_NEW_MESSAGES = {"NEW_MESSAGE", "NEW_DM_MESSAGE", "NEW_THREAD_REPLY"}
_ACTIVITY = "NEW_ACTIVITY"
_SETTINGS = "NOTIFICATION_SETTINGS"


class Due(NamedTuple):
    """A push whose time has come. `kind` is ``reminder``, or empty where the message itself decides."""

    message_id: str
    reached: str
    kind: str
    since: int
    due_at: int
    tries: int
    is_delayed: bool
    is_held: bool
    is_bare: bool
    device: Device

    @property
    def key(self) -> tuple[str, str, str]:
        """What is pushed once: a message to a device, by whatever it reached its user; or a reminder."""
        return self.message_id, self.device.id, self.kind


class _Item(Struct, frozen=True, rename="camel"):
    id: str
    kind: str
    actor: str
    message_id: str | UnsetType = UNSET


class _Reply(Struct, frozen=True):
    id: str


class _Said(Struct, frozen=True):
    id: str = ""
    reply: _Reply | UnsetType = UNSET


class _Wanted(NamedTuple):
    """What an event asks for: pushes of a message, to users whom it names, or whom the message notifies."""

    message_id: str
    reached: str
    kind: str = ""
    users: Sequence[str] | None = None

    @property
    def is_of_an_edit(self) -> bool:
        """Whether the message reaches those users later than others."""
        return self.reached != self.message_id and self.kind != "reminder"


class Queue:
    """The queue of an installation."""

    def __init__(self, storage: Storage, notices: Notices, clock: Callable[[], int] = now_ms) -> None:
        self._clock = clock
        self._storage = storage
        self._notices = notices
        self.ends = Ends(storage, clock)

    async def hear(self, event: LoggedEvent) -> bool:
        """Take an event of the log; return whether it may have changed what is due."""
        await self.ends.hear(event)
        if event.type == _SETTINGS:
            return await self._let_go(event)
        wanted = _wanted(event)
        if wanted is None:
            return False
        async with self._storage.read() as tx:
            if not await tx.fetch(_ANY):
                return False
            message = await self._notices.noticed(tx, wanted.message_id)
            if message is None:
                return False
            since = self._clock() if wanted.reached != message.id else message.created_at
            if since < self._clock() - LATEST_MS:
                return False
            devices = await self._devices(tx, message, wanted, since)
        for start in range(0, len(devices), _ROWS_AT_ONCE):
            rows = [
                (message.id, device_id, wanted.reached, user_id, wanted.kind, since, since)
                for device_id, user_id in devices[start : start + _ROWS_AT_ONCE]
            ]
            async with self._storage.write() as tx:
                await _store(tx, rows)
        return bool(devices)

    async def _devices(
        self, tx: Transaction, message: Noticed, wanted: _Wanted, since: int
    ) -> list[tuple[str, str]]:
        """Return which devices a message may be pushed to, each with its user."""
        users = wanted.users
        if users is None:
            users = await self._notices.candidates(tx, message)
        devices: list[tuple[str, str]] = []
        for marks, piece in chunks(users, after=1):
            devices += [(row[0], row[1]) for row in await tx.fetch(_OF_USERS.format(marks), since, *piece)]
            await trio.lowlevel.checkpoint()  # They may be thousands, and SQLite lets nobody in between.
        if wanted.is_of_an_edit and devices:
            devices = await self._newly_reached(tx, message, wanted.reached, devices)
        return devices

    async def _newly_reached(
        self, tx: Transaction, message: Noticed, reached: str, devices: Sequence[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """Return those that an edit may have pushed to: most whom a message notifies it notified before."""
        told = {one for (one,) in await tx.fetch(_TOLD.format(among=""), message.id, reached)}
        users = sorted({user_id for _, user_id in devices})
        verdicts = await self._notices.judged(tx, message, users, reached)
        return [one for one in devices if one[0] not in told and verdicts[one[1]].kind]

    async def _let_go(self, event: LoggedEvent) -> bool:
        """Have what was held back judged again: its user has chosen otherwise."""
        if not isinstance(event.audience, tuple):
            return False
        async with self._storage.write() as tx:
            rows = await tx.fetch(
                """update web_push_queue set since = $2, due_at = $2
                where is_held = 1 and outcome is null and due_at > $2 and subscription_id in
                (select id from web_push_subscriptions where user_id = $1)
                returning message_id""",
                event.audience[0],
                self._clock(),
            )
        return bool(rows)

    async def due(self, now: int, limit: int, *, but: Sequence[str]) -> list[Due]:
        """Return pushes whose time has come, those to the hosts of `but` left out."""
        marks = ", ".join(f"${number}" for number in range(3, 3 + len(but)))
        statement = _DUE.format(but=f"and s.host not in ({marks})" if but else "")
        async with self._storage.read() as tx:
            return [_due(row) for row in await tx.fetch(statement, now, limit, *but)]

    async def held(self, now: int, device_ids: Sequence[str], most: int) -> list[Due]:
        """Return all that was held for each of these devices and is due, until that is `most` rows.

        Of a device these are the newest; what is older than `MOST_SUMMED` of them is done.
        """
        found: list[Due] = []
        for marks, piece in chunks(device_ids, after=3):
            if len(found) >= most:
                break
            limit = most - len(found) + MOST_SUMMED  # So whichever device is begun before that is whole.
            async with self._storage.read() as tx:
                rows = await tx.fetch(_HELD.format(marks), now, MOST_SUMMED, limit, *piece)
            for _, same in groupby(map(_due, rows), key=lambda row: row.device.id):
                if len(found) < most:
                    found += await self._newest(now, list(same))
        return found

    async def _newest(self, now: int, rows: Sequence[Due]) -> Sequence[Due]:
        """Return what was held for one device; if it is all that one push sums up, what is older is done."""
        if len(rows) == MOST_SUMMED:
            async with self._storage.write() as tx:
                await tx.fetch(_LEAVE_OUT, now, rows[-1].device.id, rows[-1].reached)
        return rows

    async def next_due(self) -> int | None:
        """Return when the next push is due, in epoch milliseconds; None if there is none."""
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                "select due_at from web_push_queue where outcome is null order by due_at limit 1"
            )
        return rows[0][0] if rows else None

    async def tidy(self) -> None:
        """Forget what became of pushes a week ago."""
        before = self._clock() - KEPT_MS
        while True:
            async with self._storage.read() as tx:
                rows = await tx.fetch(_FIND_OLD, before, _REMOVED_AT_ONCE)
            if not rows:
                return
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                async with self._storage.write() as tx:
                    for row in rows[start : start + _ROWS_AT_ONCE]:
                        await tx.fetch(_OLD, *row)


def _due(row: Sequence[Any]) -> Due:
    return Due._make((*row[:6], *map(bool, row[6:9]), Device._make(row[9:])))


async def told(tx: Transaction, message_id: str, reached: str, devices: Sequence[str]) -> set[str]:
    """Return those of these devices that were pushed a message already, for what else it reached them by."""
    found: set[str] = set()
    for marks, piece in chunks(devices, after=2):
        statement = _TOLD.format(among=f"and subscription_id in ({marks})")
        found |= {one for (one,) in await tx.fetch(statement, message_id, reached, *piece)}
    return found


async def _store(tx: Transaction, rows: Sequence[tuple[str | int, ...]]) -> None:
    pattern = f"({', '.join(f'{{{number}}}' for number in range(7))})"
    for piece in in_pieces(rows):
        listed = values(pattern, 7, len(piece), after=0)
        await tx.fetch(
            f"""insert into web_push_queue
            (message_id, subscription_id, reached, user_id, kind, since, due_at)
            values {listed} on conflict do nothing""",  # noqa: S608
            *flat(piece),
        )


def _wanted(event: LoggedEvent) -> _Wanted | None:
    if event.type in _NEW_MESSAGES:
        message_id = event.text_message
        if message_id is None:  # What was said is deleted already, or edited.
            said = msgspec.json.decode(event.payload, type=_Said)
            message_id = said.id if said.reply is UNSET else said.reply.id
        return _Wanted(message_id, message_id)
    if event.type != _ACTIVITY:
        return None
    item = msgspec.json.decode(event.payload, type=_Item)
    if item.message_id is UNSET:
        return None
    if item.kind == "reminder":
        return _Wanted(item.message_id, item.id, "reminder", [item.actor])
    if item.kind == "mention" and item.id != item.message_id:
        return _Wanted(item.message_id, item.id)
    return None
