"""Who is in a room, and whether it is private: what changes with both, in the same transaction.

Every change increases the room's epoch by one. Events are addressed to a room at an epoch, so that nobody who
joins later gets what was said before (extension rule X-5).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from teamchat.chat.rooms_table import claim_name
from teamchat.events import InRoom, RoomChanged
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.storage.statements import chunks, flat, in_pieces, values

_CHANGE = """update rooms set epoch = epoch + 1, is_private = $2, public_from = $3, is_default = $4
where id = $1 returning epoch"""
SINCE_BOTH = "case when u.created_at > r.created_at then u.created_at else r.created_at end"
"""Since when there are both the user `u` and the room `r`: who is in it by default is so since then."""
_SINCE = f"select u.id, {SINCE_BOTH} from users u join rooms r on r.id = $1 where u.id in ({{}})"  # noqa: S608
_LAST = """select (select id from messages where room_id = $1 and parent_id is null order by id desc limit 1),
(select last_bound from rooms where id = $1)"""


async def change(
    tx: Transaction,
    room_id: str,
    *,
    joined: Sequence[str] = (),
    left: Sequence[str] = (),
    is_private: bool | None = None,
    is_default: bool | None = None,
    public_from: str | None = None,
    visible_from: str = "",
    role: str = "member",
    added_by: str | None = None,
    by_default: Collection[str] = (),
) -> InRoom:
    """Let users (by id) into a room and out of it, or make it private or public; return its audience then.

    Who joins is not in the room yet, and the room is there; they have the `role`, and see it from the message
    `visible_from` on.  Those of them who were in it `by_default`, without a row of their own, stay members
    since they were, and nobody has added them.  `public_from` is the first message that everybody sees while
    it is public.  A private room is nobody's by default.  Events about the change go into the log after this,
    so that those who joined get them and those who left do not.  Raises `BadRequest` if the room becomes
    public and another public one has its name.
    """
    [(kind, name, was_private, was_default, was_public_from)] = await tx.fetch(
        "select kind, name, is_private, is_default, public_from from rooms where id = $1", room_id
    )
    now_private = bool(was_private) if is_private is None else is_private
    now_default = not now_private and (bool(was_default) if is_default is None else is_default)
    now_public_from = was_public_from if public_from is None else public_from
    [(epoch,)] = await tx.fetch(_CHANGE, room_id, int(now_private), now_public_from, int(now_default))
    if is_private is not None and name is not None:
        await claim_name(tx, room_id, name, is_private=is_private)
    if now_private and not was_private:  # What its members saw of it they see still.
        await tx.fetch(
            "update memberships set visible_from = $2 where room_id = $1 and visible_from > $2",
            room_id,
            was_public_from,
        )
    if not now_default:
        await tx.fetch("delete from departures where room_id = $1", room_id)
    await _let_out(tx, room_id, left, is_default=now_default)
    since = dict.fromkeys(joined, (added_by, now_ms())) | await _since(tx, room_id, by_default)
    await _let_in(tx, room_id, [(user_id, role, *since[user_id], epoch, visible_from) for user_id in joined])
    changed = RoomChanged(
        room_id, epoch, now_private, tuple(joined), tuple(left), visible_from, now_public_from, now_default
    )
    await tx.append(changed.to())
    return InRoom(room_id, epoch, now_private, kind=kind)


async def next_message(tx: Transaction, room_id: str) -> str:
    """Return what no message of a room is less than that is posted from now on, and all that are there are.

    Whichever server posts next, and by whatever clock: posting keeps to it.
    """
    [(last, last_bound)] = await tx.fetch(_LAST, room_id)
    greatest = max(last or "", last_bound)
    if not greatest:
        return ""
    await tx.fetch("update rooms set last_bound = $2 where id = $1", room_id, greatest)
    return f"{int(greatest, 16) + 1:032x}"


async def _let_out(tx: Transaction, room_id: str, left: Sequence[str], *, is_default: bool) -> None:
    for marks, some in chunks(left, after=1):
        await tx.fetch(f"delete from memberships where room_id = $1 and user_id in ({marks})", room_id, *some)  # noqa: S608
    if is_default:
        for user_id in left:
            await tx.fetch(
                "insert into departures (room_id, user_id) values ($1, $2) on conflict do nothing",
                room_id,
                user_id,
            )


async def _since(
    tx: Transaction, room_id: str, user_ids: Collection[str]
) -> dict[str, tuple[str | None, int]]:
    """Return by whom and since when users are in a room who are in it by default."""
    found: dict[str, tuple[str | None, int]] = {}
    for marks, piece in chunks(sorted(user_ids), after=1):
        found |= {
            user_id: (None, at) for user_id, at in await tx.fetch(_SINCE.format(marks), room_id, *piece)
        }
    return found


async def _let_in(
    tx: Transaction, room_id: str, joined: Sequence[tuple[str, str, str | None, int, int, str]]
) -> None:
    for piece in in_pieces([(room_id, *one) for one in joined]):
        rows = values("({0}, {1}, {2}, {3}, {4}, {5}, {6})", 7, len(piece), after=0)
        await tx.fetch(
            f"""insert into memberships
            (room_id, user_id, role, added_by, joined_at, since_epoch, visible_from) values {rows}""",  # noqa: S608
            *flat(piece),
        )
    for marks, some in chunks([user_id for user_id, *_ in joined], after=1):
        await tx.fetch(f"delete from departures where room_id = $1 and user_id in ({marks})", room_id, *some)  # noqa: S608
