"""Following threads and reading them, as a user's own devices ask for it (extension D-8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import asdict

from teamchat.chat.permissions import check_can_have_thread
from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import Caller, Cursor, Message
from teamchat.read_state import mentioned
from teamchat.read_state.following import move
from teamchat.read_state.places import place_of
from teamchat.read_state.positions import check_position
from teamchat.read_state.service import ReadStates
from teamchat.read_state.threads import states
from teamchat.read_state.threads.events import ThreadStateChanged
from teamchat.read_state.threads.states import FIRST, ThreadMark, ThreadState
from teamchat.storage.log import last_in

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat

FILTERS = ("all", "unread")


class ThreadPage(NamedTuple):
    """Threads with the messages that they are about, the cursor to those that follow, and when that held."""

    threads: Sequence[tuple[Message, ThreadState]]
    next: str | None
    as_of: int


class FollowedThreads:
    """The thread states of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._storage = app.storage
        self._places = ReadStates(app)

    async def page(self, caller: Caller, filter: str | None, limit: int, cursor: str | None) -> ThreadPage:
        """Return threads that the caller follows, those with the newest reply first.

        Raises `BadRequest` for a filter that there is not, or a cursor that was not given out.
        """
        if filter is not None and filter not in FILTERS:
            raise BadRequest("filter is one of all and unread.")
        after = FIRST if cursor is None else Cursor.checked(cursor)
        is_unread = filter == "unread"
        last = await self._storage.position()
        async with self._storage.read() as tx:
            as_of = await last_in(tx, last)
            found = await self._page(tx, caller, after, limit + 1, is_unread=is_unread)
            shown = found[:limit]
            told = await states.states_of(tx, caller.user.id, shown)
            parents = await self._app.messages(tx, caller, [one.message_id for one in shown])
        by_id = {one.message_id: one for one in told}
        following = _cursor_at(shown[-1]).text if len(found) > limit else None
        return ThreadPage([(parent, by_id[parent.id]) for parent in parents], following, as_of)

    async def _page(
        self, tx: Transaction, caller: Caller, after: Cursor, limit: int, *, is_unread: bool
    ) -> list[ThreadMark]:
        """Return the next threads; for a token that is limited to places those that are in one of them."""
        found: list[ThreadMark] = []
        most = limit
        while True:
            marks = await states.page_of(tx, caller.user.id, after=after, limit=most, is_unread=is_unread)
            if caller.places is None:
                return list(marks)
            seen = {one.id for one in await self._app.messages(tx, caller, [one.message_id for one in marks])}
            found += [one for one in marks if one.message_id in seen]
            if len(found) >= limit or len(marks) < most:
                return found[:limit]
            after = _cursor_at(marks[-1])
            most *= 2  # So thousands that the token does not reach are few looks.

    async def check_thread(self, caller: Caller, message_id: str) -> None:
        """Raise `NotFound` for no message that the caller sees, `BadRequest` for one without a thread."""
        async with self._storage.read() as tx:
            await self._thread(tx, caller, message_id)

    async def set_following(self, caller: Caller, message_id: str, *, following: bool) -> ThreadState:
        """Have the caller follow a thread, with nothing unread, or follow it no more."""

        def begin(thread: ThreadMark) -> ThreadMark:
            mark = thread.mark.read(thread.newest or thread.mark.position, None, thread.newest)
            return thread._replace(mark=mark, is_following=True, is_ended=False, since=mark.position)

        def end(thread: ThreadMark) -> ThreadMark:
            return thread._replace(is_following=False, is_ended=True)

        def change(thread: ThreadMark) -> ThreadMark:
            if thread.is_following == following:
                return thread
            return begin(thread) if following else end(thread)

        return (await self._change(caller, message_id, change))[0]

    async def read(
        self, caller: Caller, message_id: str, position: str, generation: int | None
    ) -> tuple[ThreadState, bool]:
        """Note that everything up to a position was shown; return the state, and whether it is another."""

        def change(thread: ThreadMark) -> ThreadMark:
            check_position("position", position)
            return thread._replace(mark=thread.mark.read(position, generation, thread.newest))

        return await self._change(caller, message_id, change)

    async def unread(self, caller: Caller, message_id: str, first: str) -> ThreadState:
        """Mark a reply as unread, and those that follow it."""

        def change(thread: ThreadMark) -> ThreadMark:
            check_position("from", first)
            return thread._replace(mark=thread.mark.unread(first, thread.newest))

        return (await self._change(caller, message_id, change))[0]

    async def _thread(self, tx: Transaction, caller: Caller, message_id: str) -> ThreadMark:
        seen = await self._app.message(tx, caller, message_id)
        check_can_have_thread(seen)
        return await states.thread_of(tx, caller.user.id, seen.id)

    async def _change(
        self, caller: Caller, message_id: str, change: Callable[[ThreadMark], ThreadMark]
    ) -> tuple[ThreadState, bool]:
        """Store what `change` makes of a thread's mark; tell the caller's other devices if it is another."""
        async with self._storage.write() as tx:
            thread = await self._thread(tx, caller, message_id)
            changed = change(thread)
            moves_place = changed != thread and await _store(tx, caller.user.id, changed)
        last = await self._storage.position()
        async with self._storage.read() as tx:
            as_of = await last_in(tx, last)
            now = await self._thread(tx, caller, message_id)
            [state] = await states.states_of(tx, caller.user.id, [now])
        if changed != thread:
            self._app.signal(ThreadStateChanged(**asdict(state), as_of=str(as_of)), [caller.user.id])
        if moves_place:
            await self._places.notify(caller.user.id, [thread.room_id])
        return state, changed != thread


async def _store(tx: Transaction, user_id: str, thread: ThreadMark) -> bool:
    """Store a thread's mark; return whether it has changed what its place counts.

    What mentions one in a thread is counted there, too: the place's state is another then (D-1).
    """
    before = await mentioned.in_thread(tx, user_id, thread.message_id)
    await states.store(tx, user_id, thread)
    if before == await mentioned.in_thread(tx, user_id, thread.message_id):
        return False
    place = await place_of(tx, user_id, thread.room_id)
    if place is not None:
        await move(tx, [(user_id, place.id, place.mark)])
    return place is not None


def _cursor_at(thread: ThreadMark) -> Cursor:
    return Cursor(thread.last_reply_at or 0, thread.message_id)
