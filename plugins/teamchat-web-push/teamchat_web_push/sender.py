"""Sends what is due: judged anew, encrypted, some at a time, and noted (J-3 to J-7).

A row goes to a push service at least once, and its outcome is written milliseconds after that has answered,
together with those of others.  Where the process dies between the answer and that write, the push is sent
again: then the service replaces the one that it still has by its ``Topic``, and the browser shows no second
notice of the same message.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import trio
from msgspec.structs import replace

from teamchat import Noticed, Notices, QuietTimes, StorageError, Transaction, Unavailable, Verdict
from teamchat.model import now_ms
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.storage.statements import chunks, listed
from teamchat_web_push.connection import AT_ONCE, AT_ONCE_A_HOST, Answer, Services
from teamchat_web_push.encryption import encrypted
from teamchat_web_push.hours import quiet_until
from teamchat_web_push.payload import Writer, least
from teamchat_web_push.queue import Due, Queue, told
from teamchat_web_push.subscriptions import GONE, MOST_ERROR, TAKEN
from teamchat_web_push.vapid import Vapid, base64url

if TYPE_CHECKING:
    from teamchat import Storage, Teamchat

ACTIVE_MS = 30_000
"""How long a push waits for somebody who is active to read the message."""
JOINED_MS = 2000
"""Messages of one place within this time are one push."""
WITHOUT_FACTOR_MS = 5 * 60_000
"""How long a push waits before it is judged anew, for who has to set up a second factor first."""
TTL_SECONDS = {"mention": 24 * 3600, "direct": 24 * 3600}
OTHER_TTL_SECONDS = 12 * 3600
_URGENT = {"mention", "direct", "reminder"}
PAUSES_SECONDS = (10, 60, 300, 1800)
"""How long to wait before each further try, the last one again and again."""
FRESH_SECONDS = 2.0
"""What was judged longer ago is judged again before it is sent."""
_MOST_WAITING_A_HOST = 64
_MOST_WAITING = 256
_MOST_READ = 32
"""Few at a time: on SQLite others wait while they are judged, and who waits for long is judged again."""
_NOTED_SECONDS = 0.02
"""How far apart outcomes are written at least: whoever posts meanwhile waits for each commit."""
_MOST_HELD = 256
"""When so many rows are read, what was held for further devices has its turn in the next round."""
_WRITTEN_AT_ONCE = 8
_IDLE_SECONDS = 5.0
_HOST_REST_SECONDS = 10.0
_TOO_LONG = 413
_KEY_REFUSED = {401, 403}
_BUSY = 429

_THESE = "(message_id, subscription_id, reached) in (select * from (values {}) as these)"
_END = f"update web_push_queue set outcome = $1, reason = $2, decided_at = $3 where {_THESE}"  # noqa: S608
_WAIT = f"""update web_push_queue set reason = $1, since = $2, due_at = $3, tries = $4, is_delayed = $5,
is_held = $6, is_bare = $7 where {_THESE}"""  # noqa: S608

_log = get_logger(__name__)


class Push(NamedTuple):
    """A push that is ready: of `rows`, the first of which is the message that it names."""

    rows: Sequence[Due]
    kind: str
    plain: bytes
    ttl: int
    place: str
    topic: str
    judged_at: float
    is_summary: bool = False


class Going(NamedTuple):
    """A row that goes out now, and how much its push shows of the message."""

    row: Due
    message: Noticed
    verdict: Verdict
    preview: str


class Decided(NamedTuple):
    """What became of a row; None for `outcome` leaves it waiting until `due_at`."""

    row: Due
    outcome: str | None
    reason: str = ""
    since: int = 0
    due_at: int = 0
    tries: int = 0
    is_delayed: bool = False
    is_held: bool = False
    is_bare: bool = False
    error: str | None = None
    """What is told of the device, if anything was asked of its push service."""
    ends_device: bool = False

    @classmethod
    def later(cls, row: Due, due_at: int, reason: str, **changes: Any) -> Decided:
        """Have a row wait, as it is but for `changes`."""
        flags = row.is_delayed, row.is_held, row.is_bare
        return cls(row, None, reason, row.since, due_at, row.tries, *flags)._replace(**changes)


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
        self._app = app
        self._storage: Storage = app.storage
        self._notices, self._queue, self._services, self._vapid = notices, queue, services, vapid
        self._most_shown, self._is_allowed, self._clock = most_shown, is_allowed, clock
        self._writer = Writer(app.settings.auth.app_url)
        self._topic_key = app.accounts.key("web push topic")
        self._under_way: set[tuple[str, str, str]] = set()
        self._count = 0
        """How many pushes are under way, or not noted yet; each is of one row or of several."""
        self._of_host: defaultdict[str, int] = defaultdict(int)
        self._resting: dict[str, float] = {}
        self._sent_at: dict[tuple[str, str], int] = {}
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
        if found >= _MOST_READ and self._has_room:
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
        limit = _MOST_READ + len(under_way)
        rows = await self._queue.due(self._clock(), limit, but=sorted({*self._resting, *full}))
        rows = await self._with_all_held([row for row in rows if row.key not in under_way], under_way)
        ready, decided = await self._judge(rows)
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
                    body = encrypted(push.plain, *device.keys)
                    answer = await self._services.post(device.endpoint, self._headers(push), body)
                    decided = self._after(push, answer)
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

    def _headers(self, push: Push) -> dict[str, str]:
        return headers(self._vapid, push.rows[0].device.endpoint, push.kind, push.ttl, push.topic)

    # What is judged

    async def _judge(self, rows: Sequence[Due]) -> tuple[list[Push], list[Decided]]:
        if not rows:
            return [], []
        live = await self._app.accounts.sessions.expiries(sorted({row.device.session_id for row in rows}))
        decided: list[Decided] = []
        going: list[Going] = []
        for start in range(0, len(rows), _MOST_READ):
            await trio.lowlevel.checkpoint()  # As in `_written`.
            async with self._storage.read() as tx:
                for (message_id, reached), same in _by_message(rows[start : start + _MOST_READ]).items():
                    message = await self._notices.noticed(tx, message_id)
                    if message is None:  # Deleted, and its rows with it.
                        continue
                    goes, else_decided = await self._judged(tx, message, reached, same, live)
                    going += goes
                    decided += else_decided
        if not going:
            return [], decided
        async with self._storage.read() as tx:
            return await self._written(tx, going), decided

    async def _judged(
        self, tx: Transaction, message: Noticed, reached: str, rows: Sequence[Due], live: Collection[str]
    ) -> tuple[list[Going], list[Decided]]:
        """Return which rows of one message go out now, and what else becomes of the others."""
        users = sorted({row.device.user_id for row in rows})
        verdicts = await self._verdicts(tx, message, reached, rows, users)
        quiet = await self._notices.quiet_times(tx, users, message.author_id)
        devices = [row.device.id for row in rows if row.kind != "reminder"]
        were_told = await told(tx, message.id, reached, devices)
        notified = [one for one in users if verdicts[one].kind]
        shut_out = await self._app.accounts.second_steps.missing_in(tx, notified)
        going: list[Going] = []
        decided: list[Decided] = []
        for row in rows:
            verdict, times = verdicts[row.device.user_id], quiet.get(row.device.user_id)
            if row.device.id in were_told:
                decided.append(Decided(row, "skipped", "told"))
            elif (held := self._held(row, message, verdict, times)) is not None:
                decided.append(held)
            elif row.device.user_id in shut_out:
                # Their session is good for nothing before (extension M-1). The time of the push goes on.
                again = self._clock() + WITHOUT_FACTOR_MS
                decided.append(Decided.later(row, again, "second factor", is_held=True))
            else:
                preview = "full" if times is None else times.preview
                if row.device.session_id not in live:
                    preview = "none"
                going.append(Going(row, message, verdict, least(preview, self._most_shown)))
        return going, decided

    async def _verdicts(
        self, tx: Transaction, message: Noticed, reached: str, rows: Sequence[Due], users: Sequence[str]
    ) -> dict[str, Verdict]:
        if rows[0].kind == "reminder":
            return {one: await self._notices.sees(tx, message, one, reached) for one in users}
        return dict(await self._notices.judged(tx, message, users, reached))

    def _held(self, row: Due, message: Noticed, verdict: Verdict, times: QuietTimes | None) -> Decided | None:
        """Return what else becomes of a row than being sent now, or None."""
        now, user_id = self._clock(), row.device.user_id
        is_active = self._app.activity.is_active(user_id)
        if not verdict.kind:
            return Decided(row, "skipped", verdict.reason)
        is_first = not (row.is_delayed or row.is_held or row.tries)  # Whom it reached, it reached.
        online_until = self._app.activity.of(user_id).online_until
        if verdict.is_here and is_first and trio.current_time() >= online_until:
            return Decided(row, "skipped", "here")
        is_to_them = verdict.is_named or verdict.kind == "direct"
        comes_through = is_to_them and times is not None and times.lets_through
        until = None if comes_through else quiet_until(times, now)
        if until is not None:
            # Its time counts from the end of the quiet on.
            return Decided.later(row, until, "quiet", is_held=True, since=until)
        if now > row.since + 1000 * ttl_of(verdict.kind):
            return Decided(row, "expired", row.device.host)
        waits_until = row.since + ACTIVE_MS
        if is_active and not row.is_delayed and now < waits_until:
            return Decided.later(row, waits_until, "active", is_delayed=True)
        last = self._sent_at.get((row.device.id, message.parent_id or message.room_id), 0)
        if now < last + JOINED_MS:
            return Decided.later(row, last + JOINED_MS, "joined")
        return None

    async def _written(self, tx: Transaction, going: Sequence[Going]) -> list[Push]:
        """Return the pushes of rows that go out now: those held for one device are one, as is one place's."""
        server = await self._app.server_name(tx)
        groups, ready = _joined(going), []
        for start in range(0, len(groups), _WRITTEN_AT_ONCE):
            await trio.lowlevel.checkpoint()  # It may be long, and SQLite lets nobody in between.
            some = groups[start : start + _WRITTEN_AT_ONCE]
            users = sorted({group[0].row.device.user_id for group in some})
            badges = await self._notices.badges(tx, users)
            ready += [self._push(group, badges[group[0].row.device.user_id], server) for group in some]
        return ready

    def _push(self, group: Sequence[Going], badge: int, server: str) -> Push:
        row, message, verdict, preview = group[-1]
        messages = list(dict.fromkeys(one.message for one in group))
        is_summary = row.is_held and len(messages) > 1
        if is_summary:
            write = partial(self._writer.summary, messages)
        else:
            write = partial(self._writer.of_message, message, verdict.kind)
        payload = write(preview=preview, language=row.device.language, badge=badge, server=server)
        if row.is_bare:
            payload = replace(payload, body="")
        place = "summary" if is_summary else message.parent_id or message.room_id
        return Push(
            [one.row for one in reversed(group)],
            verdict.kind,
            payload.encoded(),
            ttl_of(verdict.kind),
            place,
            topic(self._topic_key, row.device.id, place),
            trio.current_time(),
            is_summary,
        )

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
            self._sent_at = {key: at for key, at in self._sent_at.items() if at + JOINED_MS > now}

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


async def keep(tx: Transaction, decided: Sequence[Decided], now: int) -> None:
    """Write what became of rows, with few statements however many there are."""
    ended: defaultdict[tuple[str | int, ...], list[tuple[str, str, str]]] = defaultdict(list)
    waiting: defaultdict[tuple[str | int, ...], list[tuple[str, str, str]]] = defaultdict(list)
    devices: defaultdict[str | None, list[str]] = defaultdict(list)
    for one in decided:
        row = one.row
        if one.ends_device:
            await tx.fetch("delete from web_push_subscriptions where id = $1", row.device.id)
            continue
        if one.error is not None:
            devices[one.error or None].append(row.device.id)
        which = row.message_id, row.device.id, row.reached
        if one.outcome is not None:
            ended[one.outcome, one.reason, now].append(which)
        else:
            flags = int(one.is_delayed), int(one.is_held), int(one.is_bare)
            waiting[(one.reason, one.since, one.due_at, one.tries, *flags)].append(which)
    for statement, same in ((_END, ended), (_WAIT, waiting)):
        for what, rows in same.items():
            for marks, parameters in listed(rows, after=len(what)):
                await tx.fetch(statement.format(marks), *what, *parameters)
    for error, ids in devices.items():
        said = "last_sent_at = $1, last_error = null" if error is None else "last_error = $1"
        for marks, piece in chunks(ids, after=1):
            await tx.fetch(
                f"update web_push_subscriptions set {said} where id in ({marks})",  # noqa: S608
                now if error is None else error,
                *piece,
            )


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


def topic(key: bytes, subscription_id: str, place: str) -> str:
    """Return 32 characters by which a push service knows pushes of one place, and learns nothing of it."""
    digest = hmac.digest(key, f"{subscription_id} {place}".encode(), hashlib.sha256)
    return base64url(digest[:24])


def ttl_of(kind: str) -> int:
    """Return for how many seconds a push service is to keep a push."""
    return TTL_SECONDS.get(kind, OTHER_TTL_SECONDS)


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


def _by_message(rows: Sequence[Due]) -> dict[tuple[str, str], list[Due]]:
    found: defaultdict[tuple[str, str], list[Due]] = defaultdict(list)
    for row in rows:
        found[row.message_id, row.reached].append(row)
    return found


def _joined(going: Sequence[Going]) -> list[list[Going]]:
    """Group what becomes one push, each group in the order of time."""
    found: defaultdict[tuple[object, ...], list[Going]] = defaultdict(list)
    # A message that an edit let reach its user again is one push, if either of its rows was held.
    held = {one.row.key for one in going if one.row.is_held}
    for one in going:
        row, message = one.row, one.message
        if row.key in held:
            key: tuple[object, ...] = (row.device.id,)
        else:
            key = (row.device.id, message.parent_id or message.room_id, one.verdict.kind)
        found[key].append(one)
    return [sorted(group, key=lambda one: one.row.reached) for group in found.values()]


def _outcome(status: int) -> str:
    if status in TAKEN:
        return "sent"
    if status in GONE:
        return "gone"
    return "unreachable" if status == 0 else f"{status // 100}xx"
