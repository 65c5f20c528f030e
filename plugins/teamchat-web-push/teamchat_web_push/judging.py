"""What goes out now of what is due, and with what in it (J-3 to J-6).

A row is judged when it is due by all that is so by then, whatever was so when it was queued.  One that can't
be judged is tried again a few times and ends then, by itself: it would be due whenever the server is started.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import trio
from msgspec.structs import replace

from teamchat import Noticed, Notices, QuietTimes, Transaction, Verdict
from teamchat_web_push.decided import Decided, guarded
from teamchat_web_push.hours import quiet_until
from teamchat_web_push.payload import Writer, least
from teamchat_web_push.queue import Due, told
from teamchat_web_push.vapid import base64url

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
MOST_AT_ONCE = 32
"""Few at a time: on SQLite others wait while they are judged, and who waits for long is judged again."""
_WRITTEN_AT_ONCE = 8


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


class Judge:
    """Judges rows. `sent_at` has when the last push of a place went to a device, in epoch milliseconds."""

    def __init__(
        self,
        app: Teamchat,
        notices: Notices,
        *,
        most_shown: str,
        clock: Callable[[], int],
        sent_at: Mapping[tuple[str, str], int],
    ) -> None:
        self._app = app
        self._storage: Storage = app.storage
        self._notices, self._most_shown = notices, most_shown
        self._clock, self._sent_at = clock, sent_at
        self._writer = Writer(app.settings.auth.app_url)
        self._topic_key = app.accounts.key("web push topic")

    async def judge(self, rows: Sequence[Due]) -> tuple[list[Push], list[Decided]]:
        """Return the pushes that go out now, and what becomes of the other rows."""
        if not rows:
            return [], []
        live = await self._app.accounts.sessions.expiries(sorted({row.device.session_id for row in rows}))
        decided: list[Decided] = []
        going: list[Going] = []
        for start in range(0, len(rows), MOST_AT_ONCE):
            await trio.lowlevel.checkpoint()  # As in `_written`.
            async with self._storage.read() as tx:
                for (message_id, reached), same in _by_message(rows[start : start + MOST_AT_ONCE]).items():
                    with guarded(same, decided, self._clock):
                        message = await self._notices.noticed(tx, message_id)
                        if message is None:  # Deleted, and its rows with it.
                            continue
                        goes, else_decided = await self._judged(tx, message, reached, same, live)
                        going += goes
                        decided += else_decided
        if not going:
            return [], decided
        async with self._storage.read() as tx:
            return await self._written(tx, going, decided), decided

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
            with guarded([row], decided, self._clock):
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

    async def _written(self, tx: Transaction, going: Sequence[Going], decided: list[Decided]) -> list[Push]:
        """Return the pushes of rows that go out now: those held for one device are one, as is one place's."""
        server = await self._app.server_name(tx)
        groups = _joined(going)
        ready: list[Push] = []
        for start in range(0, len(groups), _WRITTEN_AT_ONCE):
            await trio.lowlevel.checkpoint()  # It may be long, and SQLite lets nobody in between.
            some = groups[start : start + _WRITTEN_AT_ONCE]
            rows = [one.row for group in some for one in group]
            with guarded(rows, decided, self._clock):
                badges = await self._notices.badges(tx, sorted({row.device.user_id for row in rows}))
                for group in some:
                    with guarded([one.row for one in group], decided, self._clock):
                        ready.append(self._push(group, badges[group[0].row.device.user_id], server))
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


def topic(key: bytes, subscription_id: str, place: str) -> str:
    """Return 32 characters by which a push service knows pushes of one place, and learns nothing of it."""
    digest = hmac.digest(key, f"{subscription_id} {place}".encode(), hashlib.sha256)
    return base64url(digest[:24])


def ttl_of(kind: str) -> int:
    """Return for how many seconds a push service is to keep a push."""
    return TTL_SECONDS.get(kind, OTHER_TTL_SECONDS)


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
