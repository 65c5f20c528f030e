"""Who is in a room, and whether it is private: what both change, in one transaction with it.

Every change makes the room's epoch greater by one.  Events are addressed to a room at an epoch, so that who
joined later is not given what was said before (extension rule X-5).
"""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.events import InRoom, RoomChanged
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.storage.statements import chunks, flat, in_pieces, values


async def change(
    tx: Transaction,
    room_id: str,
    *,
    joined: Sequence[str] = (),
    left: Sequence[str] = (),
    is_private: bool | None = None,
) -> InRoom:
    """Let users (by id) into a room and out of it, or make it private or public; return its audience then.

    Who joins is not in the room yet, and the room is there.  Events about the change go into the log after
    this, so that those who joined get them and those who left do not.
    """
    [(epoch, now_private)] = await tx.fetch(
        """update rooms set epoch = epoch + 1, is_private = coalesce($2, is_private) where id = $1
        returning epoch, is_private""",
        room_id,
        None if is_private is None else int(is_private),
    )
    for marks, some in chunks(left, after=1):
        await tx.fetch(f"delete from memberships where room_id = $1 and user_id in ({marks})", room_id, *some)  # noqa: S608
    now = now_ms()
    for piece in in_pieces([(room_id, user_id, now, epoch) for user_id in joined]):
        rows = values("({0}, {1}, {2}, {3})", 4, len(piece), after=0)
        await tx.fetch(
            f"insert into memberships (room_id, user_id, joined_at, since_epoch) values {rows}",  # noqa: S608
            *flat(piece),
        )
    changed = RoomChanged(room_id, epoch, bool(now_private), tuple(joined), tuple(left))
    await tx.append(changed.to())
    return InRoom(room_id, epoch, bool(now_private))
