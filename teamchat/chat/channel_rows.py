"""Reading channels whole, as one caller sees them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from teamchat.chat.sight import MINE, SEEN
from teamchat.errors import NotFound
from teamchat.interfaces import Row, Transaction
from teamchat.model import Channel, text
from teamchat.storage.statements import chunks

MEMBER_COUNT = """case when r.is_default = 1
then (select count(*) from users where removed_at is null)
  - (select count(*) from departures d where d.room_id = r.id)
else (select count(*) from memberships m where m.room_id = r.id) end"""
"""How many members the room `r` has; everybody is one of a default channel, but who has left it."""

_WHOLE = f"""select r.id, r.name, r.created_at, r.updated_at, r.created_by, r.kind, r.is_private, r.topic,
r.description, r.is_default, r.archived_at, r.post_policy, r.invite_policy, r.history_for, {MEMBER_COUNT},
mine.role, gone.user_id from rooms r {MINE}
left join departures gone on gone.room_id = r.id and gone.user_id = $2"""  # noqa: S608
_ONE = _WHOLE + " where r.id = $1"
# What one does not see is not even looked at, or a clock would tell how much of it there is. Public
# channels alone have a `name_key`, as `teamchat check` holds.
_SEEN = (
    "select room_id from memberships where user_id = $1 union all select id from rooms where name_key >= ''"
)
_OWN = _WHOLE.replace("$2", "$1")
_ALL = f"{_OWN} where r.kind <> 'direct' and {SEEN} and r.id in ({_SEEN})"
_MINE = " and (mine.user_id is not null or (r.is_default = 1 and gone.user_id is null))"
_PEOPLE = """select m.room_id, u.user_name from memberships m join users u on u.id = m.user_id
where m.room_id in ({})"""
MAX_NAME = 80
_ARCHIVED = {None: "", "no": " and r.archived_at is null", "only": " and r.archived_at is not null"}


async def channel(tx: Transaction, channel_id: str, caller_id: str = "") -> Channel:
    """Return a channel that was found, as a user sees it."""
    rows = await tx.fetch(_ONE, channel_id, caller_id)
    if not rows:
        raise NotFound("No such channel.")
    [found] = await _named(tx, rows)
    return found


async def channels(
    tx: Transaction, caller_id: str, *, archived: str | None = None, joined: bool = False
) -> list[Channel]:
    """Return the channels that a user sees, oldest first: all, or those they are in.

    `archived` is ``no`` or ``only``, or None for both.
    """
    sql = _ALL + _ARCHIVED[archived] + (_MINE if joined else "") + " order by r.id"
    return await _named(tx, await tx.fetch(sql, caller_id))


async def is_member(tx: Transaction, channel_id: str, user_id: str) -> bool:
    """Tell whether a user who is there is in a channel."""
    return bool((await channel(tx, channel_id, user_id)).is_member)


async def member_count(tx: Transaction, room_id: str) -> int:
    """Return how many members a room has."""
    [(count,)] = await tx.fetch(f"select {MEMBER_COUNT} from rooms r where r.id = $1", room_id)  # noqa: S608
    return int(count)


async def _named(tx: Transaction, rows: Sequence[Row]) -> list[Channel]:
    """Return channels, of which those that have no name of their own are called after who is in them."""
    nameless = [row[0] for row in rows if row[1] is None]
    people: dict[str, list[str]] = {room_id: [] for room_id in nameless}
    for marks, piece in chunks(nameless):
        for room_id, name in await tx.fetch(_PEOPLE.format(marks), *piece):
            people[room_id].append(name)
    return [_channel(row, people.get(row[0], ())) for row in rows]


def _channel(row: Row, people: Sequence[str]) -> Channel:
    id_, name, created_at, updated_at, created_by, kind, is_private, topic, description, *rest = row
    is_default, archived_at, post_policy, invite_policy, history_for, count, role, gone = rest
    is_in = role is not None or (bool(is_default) and gone is None)
    return Channel(
        id=id_,
        name=", ".join(sorted(people, key=text.fold))[:MAX_NAME] if name is None else name,
        created_at=created_at,
        updated_at=UNSET if updated_at is None else updated_at,
        created_by=created_by or UNSET,
        kind=UNSET if kind == "channel" else kind,
        is_private=bool(is_private),
        topic=topic,
        description=description,
        is_default=bool(is_default),
        is_archived=archived_at is not None,
        archived_at=UNSET if archived_at is None else archived_at,
        post_policy=post_policy,
        invite_policy=invite_policy,
        history_for=history_for,
        member_count=count,
        is_member=is_in,
        role=(role or "member") if is_in else UNSET,
    )
