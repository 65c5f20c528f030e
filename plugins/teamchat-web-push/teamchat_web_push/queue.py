"""What is to be sent: from the log of events to one row a message and device (extensions J-2, J-3).

The event of a message stands in the log with it, so nothing more is written when somebody posts.  Whoever
holds the lease reads the log and writes the rows, some at a time.  They stay for a week with what became of
them, so an event that is read again after a crash adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
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
_ROWS = f"""select q.message_id, q.reached, q.kind, q.since, q.due_at, q.tries, q.is_delayed, q.is_held,
q.is_bare, {DEVICE} from web_push_queue q join web_push_subscriptions s on s.id = q.subscription_id
where q.outcome is null and q.due_at <= $1"""  # noqa: S608
_DUE = f"{_ROWS} {{but}} order by q.due_at limit $2"
_HELD = f"{_ROWS} and q.is_held = 1 and q.subscription_id = $2 order by q.reached desc limit $3"
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


class _Wanted(NamedTuple):
    """What an event asks for: pushes of a message, to users whom it names, or whom the message notifies."""

    message_id: str
    reached: str
    kind: str = ""
    users: Sequence[str] | None = None


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
            rows = await self._rows(tx, message, wanted, since)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            async with self._storage.write() as tx:
                await _store(tx, rows[start : start + _ROWS_AT_ONCE])
        return bool(rows)

    async def _rows(
        self, tx: Transaction, message: Noticed, wanted: _Wanted, since: int
    ) -> list[tuple[str | int, ...]]:
        users = wanted.users
        if users is None:
            users = await self._notices.candidates(tx, message)
        told: set[str] = set()
        if wanted.reached != message.id and wanted.kind != "reminder":
            told = {one for (one,) in await tx.fetch(_TOLD.format(among=""), message.id, wanted.reached)}
        found: list[tuple[str | int, ...]] = []
        for marks, piece in chunks(users, after=1):
            for subscription_id, user_id in await tx.fetch(_OF_USERS.format(marks), since, *piece):
                if subscription_id not in told:
                    found.append(
                        (message.id, subscription_id, wanted.reached, user_id, wanted.kind, since, since)
                    )
        return found

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

    async def held(self, now: int, device_id: str) -> list[Due]:
        """Return all that was held for a device and is due: the newest, what is older than those is done."""
        async with self._storage.read() as tx:
            rows = [_due(row) for row in await tx.fetch(_HELD, now, device_id, MOST_SUMMED)]
        if len(rows) == MOST_SUMMED:
            async with self._storage.write() as tx:
                await tx.fetch(_LEAVE_OUT, now, device_id, rows[-1].reached)
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
        if event.text_message is not None:
            return _Wanted(event.text_message, event.text_message)
        return None  # What was said is deleted already.
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
