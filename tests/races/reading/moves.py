"""How far somebody has read after what their own devices do, and after what happens in the place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.races.reading.place import GONE, REPLIED, Place
from tests.races.reading.state import BEGINNING, Mark, State, Thread

# What the devices of a user do.


def read(place: Place, user: str, mark: Mark, position: str) -> Mark:
    """Return the mark after a place was shown up to a position; it never moves back, nor into the future."""
    reached = min(position, place.newest(user) or mark.position)
    return mark._replace(position=max(mark.position, reached), is_marked=False)


def unread(place: Place, user: str, mark: Mark, first: str) -> Mark:
    """Return the mark after a message was marked as unread, and what follows it."""
    position = min(before(first), place.newest(user) or BEGINNING)
    if mark.is_marked and mark.position == position:
        return mark
    if mark.generation is None:
        return Mark(position, None, mark.least + 1, is_marked=True)
    return Mark(position, mark.generation + 1, mark.least, is_marked=True)


def before(id_: str) -> str:
    """Return the last position before a message."""
    return f"{max(0, int(id_, 16) - 1):032x}"


def set_following(place: Place, state: State, parent: str, *, is_following: bool) -> State:
    """Return the state after somebody has chosen to follow a thread, all of it read, or to do so no more."""
    thread = state.thread(parent) or Thread(place.position_in(parent, state))
    if thread.is_following == is_following:
        return state
    if is_following:
        position = max(thread.position, place.newest_in(parent) or thread.position)
        return state.with_thread(parent, _followed(thread, position))
    return state.with_thread(parent, thread._replace(is_following=False, is_ended=True))


def read_thread(place: Place, state: State, parent: str, position: str, generation: int | None) -> State:
    """Return the state after a thread was shown up to a position."""
    thread = state.thread(parent) or Thread(place.position_in(parent, state))
    if generation is not None and generation < thread.generation:
        return state
    reached = max(thread.position, min(position, place.newest_in(parent) or thread.position))
    after = thread._replace(position=reached, is_marked=False)
    return state if after == thread else state.with_thread(parent, after)


def unread_thread(place: Place, state: State, parent: str, first: str) -> State:
    """Return the state after a reply was marked as unread, and what follows it."""
    thread = state.thread(parent) or Thread(place.position_in(parent, state))
    position = min(before(first), place.newest_in(parent) or BEGINNING)
    if thread.is_marked and thread.position == position:
        return state
    generation = thread.generation + 1
    return state.with_thread(
        parent, thread._replace(position=position, generation=generation, is_marked=True)
    )


# What happens in the place.


def moved(
    user: str, state: State, before_it: Place, after_it: Place, kind: str, told: Mapping[str, Any]
) -> Iterator[State]:
    """Yield what somebody's state may be after an event: who becomes a member has nothing unread."""
    had, has = before_it.has(user), after_it.has(user)
    if has and not had:
        state = state._replace(mark=state.mark.successor(max(after_it.there, default=BEGINNING)))
        state = _entered(before_it, state)
    if _ends(before_it, after_it, had=had, has=has):
        state = _ended(before_it, state)
    if kind == REPLIED:
        yield from _replied(user, state, before_it, after_it, told)
        return
    if kind == "UPDATE_THREAD_REPLY" and user in after_it.newly:
        state = _begun(state, before_it.replies[told["id"]].parent, told["id"])
    elif kind in GONE:
        state = state.with_thread(told["id"], None)
    yield state


def _ends(before_it: Place, after_it: Place, *, had: bool, has: bool) -> bool:
    """Whether the threads of who is no member are over: they have left, or it is not everybody's any more."""
    closed = after_it.is_private and not before_it.is_private
    ended_default = before_it.is_default and not after_it.is_default
    return not has and (had or closed or ended_default)


def _entered(place: Place, state: State) -> State:
    """Return the state of who becomes a member: of threads that they don't follow nothing is unread."""
    for parent, thread in state.threads:
        if not thread.is_following:
            position = max(thread.position, place.newest_in(parent) or BEGINNING)
            state = state.with_thread(parent, thread._replace(position=position, is_marked=False))
    return state


def _ended(place: Place, state: State) -> State:
    for parent, thread in state.threads:
        if thread.generation == 0:
            state = state.with_thread(parent, None)
        else:
            position = place.newest_in(parent) or thread.position
            state = state.with_thread(parent, Thread(position, thread.generation + 1))
    return state


def _begun(state: State, parent: str, reply: str) -> State:
    """Return the state of who follows a thread from a reply on, unless they did, or have ended it (D-8)."""
    thread = state.thread(parent) or Thread(BEGINNING)
    if thread.is_following or thread.is_ended:
        return state
    return state.with_thread(parent, _followed(thread, max(thread.position, before(reply))))


def _followed(thread: Thread, position: str) -> Thread:
    """Return a thread that is followed, from a position on unless it was before."""
    since = thread.since if thread.is_following else position
    return Thread(position, thread.generation, is_following=True, since=since)


def _replied(
    user: str, state: State, before_it: Place, after_it: Place, told: Mapping[str, Any]
) -> Iterator[State]:
    parent, reply = told["parentMessageId"], told["reply"]["id"]
    if after_it.replies[reply].author == user:
        thread = state.thread(parent) or Thread(BEGINNING)
        yield state.with_thread(parent, _followed(thread, max(thread.position, reply)))
        return
    if user in after_it.newly:
        state = _begun(state, parent, reply)
    is_first = not before_it.replies_to(parent)
    if is_first and before_it.there[parent] == user and before_it.sees_message(user, parent):
        if after_it.has(user) or user not in after_it.left:
            yield _begun(state, parent, reply)
        if not after_it.has(user):  # Who was a member by default may have left by that it is not any more.
            yield state
        return
    yield state
