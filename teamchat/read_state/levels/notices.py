"""Whom a message notifies (extensions D-9, J-3): the one place where levels, sight and read states meet.

Candidates are found from the rows that say so: mentions, followers of a thread, users who want all messages.
Then each is judged, many users with one statement, as of that transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from teamchat.capabilities.notices import Noticed, QuietTimes, Verdict
from teamchat.chat.sight import FIRST_SEEN, SEEN
from teamchat.interfaces import Transaction
from teamchat.read_state.badge import COUNTS_ALL, badge
from teamchat.read_state.levels.levels import COLUMNS, Listening
from teamchat.read_state.levels.settings import QuietHours
from teamchat.read_state.places import places_of_all, states_of_all
from teamchat.read_state.positions import began_by_default, began_by_joining, moment, moment_of_account
from teamchat.read_state.tables import BEGINNING
from teamchat.read_state.threads import states as threads
from teamchat.read_state.threads.follows import followers
from teamchat.storage.statements import chunks

_NOTICED = """select m.id, m.room_id, r.kind, coalesce(r.name, ''), m.parent_id, m.author_id,
coalesce(m.bot_name, u.user_name, ''), m.content,
(select count(*) from message_images i where i.message_id = m.id), m.created_at
from messages m join rooms r on r.id = m.room_id left join users u on u.id = m.author_id where m.id = $1"""
_MENTIONED = "select user_id from read_state_mentions where message_id = $1 and is_there = 1"
_WIDE = "select reached from read_state_wide where message_id = $1 and is_there = 1"
_HERE = "select entities from mentions where message_id = $1"
_WANT_ALL = """select n.user_id from notification_levels n where n.room_id = $1 and n.level = 'all'
union select s.user_id from notification_levels_settings s where s.of_channels = 'all'"""
_MEMBERS = "select user_id from memberships where room_id = $1"
_EVERYBODY = """select u.id from users u where u.removed_at is null and not exists
(select 1 from departures d where d.room_id = $1 and d.user_id = u.id)"""
_IS_DEFAULT = "select is_default from rooms where id = $1"
# $1 is the room, $2 the message, $3 its parent or itself, of whose thread the state is asked.
_JUDGED = f"""select u.id, coalesce(u.removed_at, u.deactivated_at), {SEEN}, {FIRST_SEEN}, r.is_default,
mine.user_id, (select 1 from departures d where d.room_id = r.id and d.user_id = u.id),
mine.since_epoch, mine.joined_at, u.created_at, rr.base, rr.default_base, rr.first_epoch, p.position,
ts.position, ts.is_following, ts.since, w.cause, w.reached, a.position, {COLUMNS}
from users u join rooms r on r.id = $1
left join memberships mine on mine.room_id = r.id and mine.user_id = u.id
left join read_state_rooms rr on rr.room_id = r.id
left join read_state p on p.room_id = r.id and p.user_id = u.id
left join notification_levels n on n.room_id = r.id and n.user_id = u.id
left join notification_levels_settings s on s.user_id = u.id
left join threads_states ts on ts.user_id = u.id and ts.message_id = $3
left join read_state_mentions w on w.user_id = u.id and w.room_id = r.id and w.message_id = $2
  and w.is_there = 1
left join {{activity}} a on a.user_id = u.id
where u.id in ({{users}})"""  # noqa: S608
_NO_ACTIVITY = "(select null as user_id, null as position)"
_QUIET = """select user_id, quiet_hours, paused_until, preview from notification_levels_settings
where user_id in ({})"""
_URGENT = "select user_id from notification_levels_urgent where other_id = $1 and user_id in ({})"
_DIRECT = "direct"


class LevelNotices:
    """Tells whom messages notify. A `teamchat.capabilities.notices.Notices`.

    `has_mentions` and `has_activity` say whether these capabilities are on: their tables are there then.
    """

    def __init__(self, *, has_mentions: bool, has_activity: bool) -> None:
        self._has_mentions = has_mentions
        activity = "activity_read" if has_activity else _NO_ACTIVITY
        self._judged = _JUDGED.replace("{activity}", activity)

    async def noticed(self, tx: Transaction, message_id: str) -> Noticed | None:
        rows = await tx.fetch(_NOTICED, message_id)
        return Noticed(*rows[0]) if rows else None

    async def candidates(self, tx: Transaction, message: Noticed) -> Sequence[str]:
        found = {one for (one,) in await tx.fetch(_MENTIONED, message.id)}
        is_wide = bool(await tx.fetch(_WIDE, message.id)) or await self._is_here(tx, message)
        if message.parent_id is not None:
            found |= set(await followers(tx, message.parent_id))
        elif message.room_kind != "channel":
            found |= {one for (one,) in await tx.fetch(_MEMBERS, message.room_id)}
        else:
            found |= {one for (one,) in await tx.fetch(_WANT_ALL, message.room_id)}
            if is_wide:
                [(is_default,)] = await tx.fetch(_IS_DEFAULT, message.room_id)
                everybody = _EVERYBODY if is_default else _MEMBERS
                found |= {one for (one,) in await tx.fetch(everybody, message.room_id)}
        return sorted(found - {message.author_id})

    async def judged(
        self, tx: Transaction, message: Noticed, user_ids: Sequence[str], reached: str
    ) -> Mapping[str, Verdict]:
        wide_since = next((since for (since,) in await tx.fetch(_WIDE, message.id)), None)
        is_here = await self._is_here(tx, message)
        found = {
            user_id: _verdict(message, row, reached, wide_since=wide_since, is_here=is_here)
            for user_id, row in (await self._rows(tx, message, user_ids)).items()
        }
        return {one: found.get(one, Verdict(reason="gone")) for one in user_ids}

    async def sees(self, tx: Transaction, message: Noticed, user_id: str, reached: str) -> Verdict:
        row = (await self._rows(tx, message, [user_id])).get(user_id)
        if row is None:
            return Verdict(reason="gone")
        if (reason := row.unseen(message)) is not None:
            return Verdict(reason=reason)
        return Verdict(reason="read") if row.feed_read_to >= reached else Verdict("reminder")

    async def quiet_times(
        self, tx: Transaction, user_ids: Sequence[str], author_id: str
    ) -> Mapping[str, QuietTimes]:
        urgent: set[str] = set()
        found: dict[str, QuietTimes] = {}
        for marks, piece in chunks(user_ids, after=1):
            urgent |= {one for (one,) in await tx.fetch(_URGENT.format(marks), author_id, *piece)}
        for marks, piece in chunks(user_ids):
            for user_id, hours, paused_until, preview in await tx.fetch(_QUIET.format(marks), *piece):
                quiet = None if hours is None else msgspec.json.decode(hours, type=QuietHours)
                found[user_id] = QuietTimes(
                    None if quiet is None else (quiet.tz, quiet.days, quiet.start, quiet.end),
                    paused_until,
                    user_id in urgent,
                    preview,
                )
        for user_id in urgent - found.keys():
            found[user_id] = QuietTimes(lets_through=True)
        return found

    async def badges(self, tx: Transaction, user_ids: Sequence[str]) -> Mapping[str, int]:
        # On PostgreSQL each statement counts, and in most people's threads nothing is unread.
        readers = await threads.readers_among(tx, user_ids)
        places = {
            user_id: [one for one in own if not one.is_archived]
            for user_id, own in (await places_of_all(tx, user_ids)).items()
        }
        but = {one.id for own in places.values() for one in own if one.kind not in COUNTS_ALL}
        states = await states_of_all(tx, places, but=but, readers=readers)
        unread = {one: await threads.states_of(tx, one, await threads.unread_of(tx, one)) for one in readers}
        return {user_id: badge(own, unread.get(user_id, ())) for user_id, own in states.items()}

    async def _rows(self, tx: Transaction, message: Noticed, user_ids: Sequence[str]) -> Mapping[str, _Row]:
        found: dict[str, _Row] = {}
        for marks, piece in chunks(user_ids, after=3):
            statement = self._judged.format(users=marks)
            about = message.room_id, message.id, message.parent_id or message.id
            for user_id, *row in await tx.fetch(statement, *about, *piece):
                found[user_id] = _Row(user_id, row)
        return found

    async def _is_here(self, tx: Transaction, message: Noticed) -> bool:
        if not self._has_mentions or message.parent_id is not None or "@" not in message.content:
            return False
        rows = await tx.fetch(_HERE, message.id)
        return bool(rows) and any(
            one.get("type") == "wide" and one.get("id") == "here"
            for one in msgspec.json.decode(rows[0][0], type=list[dict[str, Any]])
        )


class _Row:
    """What is known of a user and a message."""

    def __init__(self, user_id: str, row: Sequence[Any]) -> None:
        gone_at, sees, first_seen, is_default, membership, departed, *rest = row
        since, joined_at, made_at, base, default_base, first_epoch, position, *rest = rest
        in_thread, is_following, follows_since, cause, self.named_since, feed, *levels = rest
        self.is_named = cause not in {None, "keyword"}
        self.is_there = gone_at is None
        self._sees, self._first_seen = bool(sees), first_seen
        self.is_member = membership is not None or (bool(is_default) and departed is None)
        there_since = moment_of_account(user_id, made_at) if joined_at is None else moment(joined_at)
        if membership is not None and base is not None and not is_default:
            there_since = began_by_joining(joined_at, since, base, first_epoch)
        self._there_since, self._follows_since = there_since, follows_since or ""
        if position is None and base is not None:
            # As `Place.of` has it: where somebody stands who has never read there.
            if is_default:
                position = began_by_default(user_id, made_at, default_base)
            elif membership is not None:
                position = base if since <= first_epoch else max(base, moment(joined_at))
        self._position = position or BEGINNING
        self._in_thread, self.is_following = in_thread, bool(is_following)
        self.feed_read_to: str = feed or BEGINNING
        self.listening = Listening.of(levels)

    def unseen(self, message: Noticed) -> str | None:
        """Return why the user does not see a message, or None if they do."""
        if not self.is_there:
            return "gone"
        if not self._sees or (message.parent_id or message.id) < self._first_seen:
            return "sight"
        return None

    def was_there(self, message: Noticed) -> bool:
        """Tell whether a message that means everybody concerns the user: not if they came after it (D-1)."""
        since: str = self._there_since if message.parent_id is None else self._follows_since
        return since < message.id

    def has_read(self, message: Noticed, reached: str) -> bool:
        if reached != message.id or not self.is_member:
            return self.feed_read_to >= reached
        if message.parent_id is not None and self._in_thread is not None:
            return bool(self._in_thread >= message.id)
        return bool(self._position >= message.id)


def _verdict(message: Noticed, row: _Row, reached: str, *, wide_since: str | None, is_here: bool) -> Verdict:
    if (unseen := row.unseen(message)) is not None:
        return Verdict(reason=unseen)
    listening = row.listening
    if listening.is_muted:
        return Verdict(reason="muted")
    if not row.was_there(message):
        wide_since = None
    is_named, is_wide = row.named_since is not None, wide_since is not None
    kind, reason = _kind(message, row, is_named=is_named, is_wide=is_wide)
    is_for_here = not kind and is_here and row.is_member and _hears_wide(listening)
    if is_for_here:
        kind = "mention"
    if not kind:
        return Verdict(reason=reason)
    if reached != message.id and (kind != "mention" or _was_mentioned(message, row, reached, wide_since)):
        return Verdict(reason="level")  # An edit notifies of what it has added alone (E-4).
    if row.has_read(message, reached):
        return Verdict(reason="read")
    return Verdict(kind, is_here=is_for_here, is_named=row.is_named)


def _was_mentioned(message: Noticed, row: _Row, reached: str, wide_since: str | None) -> bool:
    """Tell whether a message mentioned a user before an edit: that notified them, and does once ever."""
    was_named = row.named_since is not None and row.named_since < reached
    was_wide = wide_since is not None and wide_since < reached
    return _kind(message, row, is_named=was_named, is_wide=was_wide)[0] == "mention"


def _kind(message: Noticed, row: _Row, *, is_named: bool, is_wide: bool) -> tuple[str, str]:
    """Return as what a message notifies a user by their levels, or why it does not."""
    listening = row.listening
    if message.room_kind == _DIRECT and message.parent_id is None:
        return ("", "level") if listening.level == "nothing" else (_DIRECT, "")
    level = listening.level if message.parent_id is None else listening.in_threads
    if listening.level == "nothing" or level == "nothing":
        return "", "level"
    if is_named:
        return "mention", ""
    if message.parent_id is not None:
        if not row.is_following:
            return "", "level"
        if is_wide and not listening.ignores_wide:
            return "mention", ""
        return ("reply", "") if level == "all" else ("", "level")
    if not row.is_member:
        return "", "member"
    if is_wide and _hears_wide(listening):
        return "mention", ""
    return ("message", "") if level == "all" else ("", "level")


def _hears_wide(listening: Listening) -> bool:
    return listening.level != "nothing" and not listening.ignores_wide
