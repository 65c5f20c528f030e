"""Sends what is due: judged anew, encrypted, some at a time, and noted (J-3 to J-7).

A row goes to a push service at least once, and its outcome is written milliseconds after that has answered,
together with those of others.  Where the process dies between the answer and that write, the push is sent
again: then the service replaces the one that it still has by its ``Topic``, and the browser shows no second
notice of the same message.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import trio

from teamchat import Notices, StorageError, Unavailable
from teamchat.model import now_ms
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat_web_push.connection import AT_ONCE, AT_ONCE_A_HOST, Answer, Services
from teamchat_web_push.decided import Decided, guarded, keep
from teamchat_web_push.encryption import encrypted
from teamchat_web_push.judging import JOINED_MS, MOST_AT_ONCE, Judge, Push
from teamchat_web_push.queue import Due, Queue
from teamchat_web_push.subscriptions import GONE, MOST_ERROR, TAKEN
from teamchat_web_push.vapid import Vapid

if TYPE_CHECKING:
    from teamchat import Storage, Teamchat

_URGENT = {"mention", "direct", "reminder"}
PAUSES_SECONDS = (10, 60, 300, 1800)
"""How long to wait before each further try, the last one again and again."""
FRESH_SECONDS = 2.0
"""What was judged longer ago is judged again before it is sent."""
_MOST_WAITING_A_HOST = 64
_MOST_WAITING = 256
_NOTED_SECONDS = 0.02
"""How far apart outcomes are written at least: whoever posts meanwhile waits for each commit."""
_MOST_HELD = 256
"""When so many rows are read, what was held for further devices has its turn in the next round."""
_IDLE_SECONDS = 5.0
_HOST_REST_SECONDS = 10.0
_TOO_LONG = 413
_KEY_REFUSED = {401, 403}
_BUSY = 429

_log = get_logger(__name__)


class Sender:
    """Sends what the queue holds, for as long as it may (`is_allowed`)."""

    def __init__(
        self,
        app: Teamchat,
        notices: Notices,
        queue: Queue,
        services: Services,
        vapid: Vapid,
        *,
        most_shown: str,
        is_allowed: Callable[[], bool] = lambda: True,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._storage: Storage = app.storage
        self._queue, self._services, self._vapid = queue, services, vapid
        self._is_allowed, self._clock = is_allowed, clock
        self._under_way: set[tuple[str, str, str]] = set()
        self._count = 0
        """How many pushes are under way, or not noted yet; each is of one row or of several."""
        self._of_host: defaultdict[str, int] = defaultdict(int)
        self._resting: dict[str, float] = {}
        self._sent_at: dict[tuple[str, str], int] = {}
        self._judge = Judge(app, notices, most_shown=most_shown, clock=clock, sent_at=self._sent_at)
        self._slots = trio.Semaphore(AT_ONCE)
        self._slots_of: dict[str, trio.Semaphore] = {}
        self._decided: list[Sequence[Decided]] = []
        self._wanted, self._has_decided = trio.Event(), trio.Event()

    def look(self) -> None:
        """Look at the queue soon: something may be due."""
        self._wanted.set()

    @property
    def _has_room(self) -> bool:
        """Whether so few pushes are under way that more are looked for."""
        return self._count <= _MOST_WAITING // 2

    async def run(self) -> None:
        """Send until cancelled; what was answered by then is noted. Raises `StorageError`."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._note_for_ever)
                while True:
                    await self._pause(await self.round(nursery))
        finally:
            with trio.move_on_after(2, shield=True):
                try:
                    await self.note()
                except (StorageError, Unavailable):
                    _log.warning("what became of pushes could not be kept; they may be sent again")

    async def _pause(self, found: int) -> None:
        """Wait until something may be due."""
        seconds = _IDLE_SECONDS
        if found >= MOST_AT_ONCE and self._has_room:
            seconds = 0
        elif not self._under_way:
            due = await self._queue.next_due()
            if due is not None:
                seconds = min(_IDLE_SECONDS, max(0.0, (due - self._clock()) / 1000))
                if due <= self._clock():  # Of a host that rests.
                    seconds = 0.5
        if seconds == 0:
            await trio.lowlevel.checkpoint()
            return
        with trio.move_on_after(seconds):
            await self._wanted.wait()
        self._wanted = trio.Event()

    async def round(self, nursery: trio.Nursery) -> int:
        """Judge what is due, and begin to send it; return how much was due."""
        if not self._is_allowed() or self._count >= _MOST_WAITING:
            return 0
        self._forget_old(self._clock())
        now = trio.current_time()
        self._resting = {host: until for host, until in self._resting.items() if until > now}
        full = [host for host, count in self._of_host.items() if count >= _MOST_WAITING_A_HOST]
        # As it is before they are read: what is noted meanwhile may stand among them as it was.
        under_way = frozenset(self._under_way)
        limit = MOST_AT_ONCE + len(under_way)
        rows = await self._queue.due(self._clock(), limit, but=sorted({*self._resting, *full}))
        rows = await self._with_all_held([row for row in rows if row.key not in under_way], under_way)
        ready, decided = await self._judge.judge(rows)
        if decided:
            await self._keep(decided)
        for push in ready:
            self._begin(nursery, push)
        return len(rows)

    async def _with_all_held(
        self, rows: Sequence[Due], under_way: Collection[tuple[str, str, str]]
    ) -> list[Due]:
        """Return these rows, and with those that were held all that was for the same device: it is one push.

        Devices for which it would be too much at a time have their turn in the next round.
        """
        found = [row for row in rows if not row.is_held]
        devices = list(dict.fromkeys(row.device.id for row in rows if row.is_held))
        held = await self._queue.held(self._clock(), devices, _MOST_HELD - len(found))
        return found + [row for row in held if row.key not in under_way]

    def _begin(self, nursery: trio.Nursery, push: Push) -> None:
        self._under_way.update(row.key for row in push.rows)
        self._count += 1
        device = push.rows[0].device
        self._sent_at[device.id, push.place] = self._clock()
        self._of_host[device.host] += 1
        nursery.start_soon(self._deliver, push)

    async def _deliver(self, push: Push) -> None:
        device = push.rows[0].device
        slots = self._slots_of.setdefault(device.host, trio.Semaphore(AT_ONCE_A_HOST))
        decided: Sequence[Decided] = ()
        try:
            async with slots, self._slots:
                await self._services.pace.step()
                is_fresh = trio.current_time() - push.judged_at < FRESH_SECONDS
                if is_fresh and self._is_allowed() and device.host not in self._resting:
                    decided = await self._sent(push)
        finally:
            self._of_host[device.host] -= 1
            if not self._of_host[device.host]:
                del self._of_host[device.host]
                self._slots_of.pop(device.host, None)
            if decided:
                self._decided.append(decided)
                self._has_decided.set()
            else:  # It is due still, and judged again.
                self._sent_at.pop((device.id, push.place), None)
                self._under_way.difference_update(row.key for row in push.rows)
                self._count -= 1
                self.look()

    async def _sent(self, push: Push) -> list[Decided]:
        """Send a push, and return what becomes of its rows."""
        device = push.rows[0].device
        decided: list[Decided] = []
        answer: Answer | None = None
        with guarded(push.rows, decided, self._clock):
            body = encrypted(push.plain, *device.keys)
            answer = await self._services.post(device.endpoint, self._headers(push), body)
        return decided if answer is None else self._after(push, answer)

    def _headers(self, push: Push) -> dict[str, str]:
        return headers(self._vapid, push.rows[0].device.endpoint, push.kind, push.ttl, push.topic)

    # What was answered

    def _after(self, push: Push, answer: Answer) -> list[Decided]:
        """Return what becomes of the rows of a push."""
        now, first = self._clock(), push.rows[0]
        metrics.pushes.add(_outcome(answer.status))
        if answer.status in TAKEN:
            self._sent_at[first.device.id, push.place] = now
            reason, joined = ("summary", "summary") if push.is_summary else (push.kind, "joined")
            with_it = [Decided(row, "sent", joined) for row in push.rows[1:]]
            return [Decided(first, "sent", reason, error=""), *with_it]
        self._sent_at.pop((first.device.id, push.place), None)
        if answer.status in GONE:
            return [Decided(first, "ended", str(answer.status), ends_device=True)]
        said = (answer.reason or str(answer.status))[:MOST_ERROR]
        if answer.status == _TOO_LONG and not first.is_bare:
            return [Decided.later(row, now, "413", is_bare=True) for row in push.rows]
        if answer.status // 100 == 4 and answer.status != _BUSY:
            about = ": it does not accept this server's key" if answer.status in _KEY_REFUSED else ""
            return [Decided(row, "refused", said, error=said + about) for row in push.rows]
        return self._again(push, answer, said)

    def _again(self, push: Push, answer: Answer, said: str) -> list[Decided]:
        """Have a push tried again later, or give it up where its time is over."""
        now, first = self._clock(), push.rows[0]
        pause = PAUSES_SECONDS[min(first.tries, len(PAUSES_SECONDS) - 1)]
        asked = seconds_of(answer.retry_after, now)
        seconds = pause if asked is None else max(1, asked)
        self._resting[first.device.host] = trio.current_time() + min(seconds, _HOST_REST_SECONDS)
        due_at = now + seconds * 1000
        if due_at > first.since + push.ttl * 1000:
            return [Decided(row, "expired", said, error=said) for row in push.rows]
        return [Decided.later(row, due_at, said, tries=row.tries + 1, error=said) for row in push.rows]

    def _forget_old(self, now: int) -> None:
        if len(self._sent_at) > 10 * _MOST_WAITING:
            for key in [key for key, at in self._sent_at.items() if at + JOINED_MS <= now]:
                del self._sent_at[key]

    async def _note_for_ever(self) -> None:
        while True:
            await self._has_decided.wait()
            self._has_decided = trio.Event()
            await self.note()
            await trio.sleep(_NOTED_SECONDS)

    async def note(self) -> None:
        """Write what was answered since, in one transaction."""
        noted, self._decided = self._decided, []
        if not noted:
            return
        decided = [one for each in noted for one in each]
        await self._keep(decided)
        self._under_way.difference_update(one.row.key for one in decided)
        self._count -= len(noted)
        if self._has_room:
            self.look()

    async def _keep(self, decided: Sequence[Decided]) -> None:
        async with self._storage.write() as tx:
            await keep(tx, decided, self._clock())


def headers(vapid: Vapid, endpoint: str, kind: str, ttl: int, topic: str | None) -> dict[str, str]:
    """Return the headers of a push (RFC 8030, section 5; RFC 8188; RFC 8292)."""
    found = {
        "Authorization": vapid.authorization(endpoint),
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "TTL": str(ttl),
        "Urgency": "high" if kind in _URGENT else "normal",
    }
    return found if topic is None else {**found, "Topic": topic}


def seconds_of(retry_after: str | None, now: int) -> int | None:
    """Return the seconds that a Retry-After asks for, of a day at most; None if it says nothing."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return min(int(retry_after.strip()[:9]), 24 * 3600)
    try:
        at = parsedate_to_datetime(retry_after).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, min(math.ceil(at - now / 1000), 24 * 3600))


def _outcome(status: int) -> str:
    if status in TAKEN:
        return "sent"
    if status in GONE:
        return "gone"
    return "unreachable" if status == 0 else f"{status // 100}xx"
