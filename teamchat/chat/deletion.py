"""Deleting rooms and messages: hidden from everybody at once, removed in parts afterwards.

One short transaction removes a room's name, its members and its webhooks, and notifies those who saw it. From
then on its row has the kind ``gone``: it is private and has no members, so `sight` finds neither the room nor
anything in it, and readers of the log get none of its texts (`teamchat.storage.log.logged_in`). Messages with
everything that belongs to them, their texts in the log, and images are removed part by part, each in a
transaction, and the row last. The first part is in the deleting transaction itself, so of a small room
nothing is left afterwards.

A message with many replies is moved into a ``gone`` room of its own, with its replies, their images, and the
events that carry their texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from teamchat import events
from teamchat.accounts import audit
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows
from teamchat.chat.images_table import forget_images_in, forget_images_of, move_images_of_thread
from teamchat.chat.sight import ROOM, Room, SeenMessage
from teamchat.interfaces import Storage, Transaction
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.storage.lease import Lease
from teamchat.storage.log import blank
from teamchat.storage.parts import in_parts
from teamchat.storage.statements import chunks

PART = 15
"""How many messages, and how many images, go in one transaction."""
LEASE = "deletion"
_LEFT = (
    "delete from webhooks where channel_id = $1",
    "delete from memberships where room_id = $1",
    "delete from departures where room_id = $1",
)
_HIDE = """update rooms set kind = 'gone', name = null, name_key = null, topic = '', description = '',
is_private = 1, is_default = 0, public_from = '', archived_at = coalesce(archived_at, $2) where id = $1"""
_SET_ASIDE = """insert into rooms (id, kind, is_private, created_at, archived_at, part_of)
values ($1, 'gone', 1, $2, $2, $3)"""
_THREAD = "select id from messages where id = $1 or parent_id = $1"
_MOVE = "update messages set room_id = $2 where id = $1 or parent_id = $1"
_MOVE_TEXTS = f"""update events set text_room = $2 where text_room = $3
and text_message in ({_THREAD})"""  # noqa: S608
_GONE = f"select r.part_of, {ROOM} from rooms r where r.kind = 'gone' order by r.id"  # noqa: S608
_MESSAGES = "select id from messages where room_id = $1 and parent_id is null order by id limit {}"
_REPLIES = "select id from messages where parent_id in ({}) limit {}"


async def delete(tx: Transaction, capabilities: Capabilities, room: Room, *, by: str | None = None) -> None:
    """Delete a channel and all that is in it. DELETE_CHANNEL goes to who saw it."""
    channel = await channel_rows.channel(tx, room.id)
    if room.kind == "channel":
        await audit.note(tx, "channel.delete", "channel", room.id, by=by, name=channel.name)
    members = await tx.fetch("select user_id from memberships where room_id = $1 order by user_id", room.id)
    await capabilities.in_transaction.room_going(tx, room)
    for statement in _LEFT:
        await tx.fetch(statement, room.id)
    await tx.fetch(_HIDE, room.id, now_ms())
    await _clear(capabilities, _Left(room.id, room), tx)
    await tx.append(events.Blanked(room.id, None).to())
    await tx.append(events.RoomGone(room.id, room.is_private).to())
    gone = events.DeleteChannel(room.id, channel.name, created_by=channel.created_by)
    if room.is_private:
        # By their ids: who is in it will not be known any more.
        await tx.append(gone.to([user_id for (user_id,) in members]))
        await tx.fetch("delete from closed_rooms where closed_at < (select min(created_at) from events)")
        await tx.fetch("insert into closed_rooms (id, closed_at) values ($1, $2)", room.id, now_ms())
    else:
        await tx.append(gone.to(room.audience))


async def delete_message(
    tx: Transaction, capabilities: Capabilities, seen: SeenMessage, replies: Sequence[str]
) -> None:
    """Delete a message and its replies, without an event; nothing that was said is in the log any more."""
    if len(replies) < PART:
        await remove(tx, [*replies, seen.id], seen.room, capabilities)
    else:
        await capabilities.in_transaction.thread_going(tx, seen.id, replies, seen.room)
        await _set_aside(tx, seen)
    await blank(tx, seen.room.id, [*replies, seen.id])


async def remove(tx: Transaction, ids: Sequence[str], room: Room, capabilities: Capabilities) -> None:
    """Remove messages with all that hangs on them, without an event; the log has what was said still.

    Replies stand before the messages they are replies to.
    """
    await capabilities.in_transaction.messages_going(tx, ids, room)
    await forget_images_of(tx, ids)
    for statement in (
        "delete from reactions where message_id in ({})",
        "delete from threads where parent_id in ({})",
        "delete from messages where id in ({})",
    ):
        for marks, piece in chunks(ids):
            await tx.fetch(statement.format(marks), *piece)


class Deletion:
    """Removes what is left of deleted rooms and threads."""

    def __init__(self, storage: Storage, capabilities: Capabilities) -> None:
        self._storage = storage
        self._capabilities = capabilities

    async def sweep(self) -> None:
        """Remove what there is at present, in one process of the installation at a time."""
        if await self._rooms():
            await Lease(self._storage, LEASE).during(self._clear_all)

    async def _clear_all(self) -> None:
        for left in await self._rooms():
            await in_parts(self._storage, partial(_clear, self._capabilities, left))

    async def _rooms(self) -> Sequence[_Left]:
        async with self._storage.read() as tx:
            return [_Left.of(*row) for row in await tx.fetch(_GONE)]


class _Left(NamedTuple):
    """What is left: the `id` of the row that it hangs on, and the `room` that it was said in."""

    id: str
    room: Room

    @classmethod
    def of(cls, part_of: str | None, *row: object) -> _Left:
        room = Room.of(row)
        return cls(room.id, room._replace(id=part_of or room.id))


async def _set_aside(tx: Transaction, seen: SeenMessage) -> None:
    """Hide a message with its replies, by a few statements however many these are."""
    aside = new_id()
    await tx.fetch(_SET_ASIDE, aside, now_ms(), seen.room.id)
    await tx.fetch(_MOVE, seen.id, aside)
    await tx.fetch(_MOVE_TEXTS, seen.id, aside, seen.room.id)
    await move_images_of_thread(tx, seen.id, aside)


async def _clear(capabilities: Capabilities, left: _Left, tx: Transaction) -> bool:
    """Remove a part of what is left, in the end the row. Returns whether there is more."""
    ids = await _some_messages(tx, left.id)
    if ids:
        await remove(tx, ids, left.room, capabilities)
        await tx.blank(left.id, ids)
    if len(ids) >= PART:
        return True
    has_more = await forget_images_in(tx, left.id, PART) == PART
    if left.id == left.room.id:
        has_more |= await capabilities.in_transaction.room_clearing(tx, left.room)
    if not has_more:
        await tx.fetch("delete from rooms where id = $1", left.id)
    return has_more


async def _some_messages(tx: Transaction, room_id: str) -> list[str]:
    """Return some messages of a room with their replies, or where these are many, some of them alone."""
    found = [id_ for (id_,) in await tx.fetch(_MESSAGES.format(PART), room_id)]
    replies: list[str] = []
    for marks, piece in chunks(found):
        replies += [id_ for (id_,) in await tx.fetch(_REPLIES.format(marks, PART), *piece)]
    return replies if len(replies) >= PART else [*replies, *found]
