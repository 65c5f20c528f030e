"""What happens to thread states as people reply, leave and are removed, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from teamchat.capabilities import Changes
from teamchat.chat.sight import Room
from teamchat.interfaces import Transaction
from teamchat.model import Message
from teamchat.read_state.following import move
from teamchat.read_state.going import forget_all, forget_some, some_of
from teamchat.read_state.mentioned import is_mentioned_in_thread
from teamchat.read_state.places import place_of
from teamchat.read_state.threads.follows import (
    Thread,
    enter,
    enter_by_default,
    leave,
    leave_all_but_members,
    reply_stored,
)
from teamchat.read_state.threads.replying import Replying

_STATES = some_of("threads_states", "user_id, message_id")


class Following(Changes):
    """Begins follows and ends them. What is deleted takes its thread states along by itself."""

    def __init__(self, replying: Replying) -> None:
        self._replying = replying

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        """Who replies follows the thread, and who wrote the parent does from the first reply on."""
        if message.thread_id is UNSET or message.author.is_bot:
            return
        author_id = message.author.id
        has_read = await is_mentioned_in_thread(tx, author_id, message.thread_id)
        await reply_stored(tx, Thread(message.thread_id, room.id), message.id, author_id)
        place = await place_of(tx, author_id, room.id) if has_read else None
        if place is not None:  # It counts what mentions one in its threads (D-1): its state is another now.
            await move(tx, [(author_id, room.id, place.mark)])
            self._replying.has_read(author_id, room.id, message.id)

    async def thread_going(
        self,
        tx: Transaction,
        message_id: str,
        replies: Sequence[str],  # noqa: ARG002
        room: Room,  # noqa: ARG002
    ) -> None:
        """Nobody follows it any more; by that its replies count nowhere, nor who is mentioned there."""
        await tx.fetch("delete from threads_states where message_id = $1", message_id)

    async def members_changed(
        self, tx: Transaction, room: Room, joined: Sequence[str], left: Sequence[str]
    ) -> None:
        """Leaving a place ends its thread states; who joins has nothing unread but in threads they follow."""
        await leave(tx, room.id, left)
        await enter(tx, room.id, joined)

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """Everybody becomes a member by default, or those who were that alone are members no more."""
        [(is_default,)] = await tx.fetch("select is_default from rooms where id = $1", room.id)
        if room.is_default and not is_default:
            await leave_all_but_members(tx, room.id)
        elif is_default and not room.is_default:
            await enter_by_default(tx, room.id)

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        """Of a channel that has become private nothing is left to those outside."""
        if not room.is_private:
            await leave_all_but_members(tx, room.id)

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:
        """Remove as many of their thread states as one transaction can."""
        return is_going and await forget_some(tx, user_id, [_STATES])

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nothing is kept of who is no user any more. Raises `TooMuch` for very many threads."""
        await forget_all(tx, user_id, [_STATES])
