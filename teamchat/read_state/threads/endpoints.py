"""The endpoints of followed threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat.model import Caller, Message
from teamchat.read_state.reading import Reading, Unreading
from teamchat.read_state.threads.states import ThreadState
from teamchat.web import Answer, Section
from teamchat.web.reader import read_limit

if TYPE_CHECKING:
    from teamchat.read_state.threads.service import FollowedThreads


class FollowedThread(Struct, frozen=True):
    """A thread that one follows: the message that it is about, and how far one has read."""

    parent: Message
    state: ThreadState


class FollowedThreadPage(Answer, frozen=True):
    """Threads, at the position `as_of` of the log; `next` is the cursor to the threads that follow."""

    threads: Sequence[FollowedThread]
    next: str | None
    as_of: str


class FollowingThread(Struct, frozen=True):
    """Whether one follows the thread."""

    following: bool


class OneThread(Answer, frozen=True):
    """The thread state."""

    state: ThreadState


class ReadThread(Answer, frozen=True):
    """The thread state, and whether this request has changed it."""

    state: ThreadState
    changed: bool


def section_for(threads: FollowedThreads) -> Section:
    """Return the endpoints."""
    section = Section("threads one follows")

    @section.endpoint(
        "GET",
        "/me/threads",
        within_places=True,
        answer=FollowedThreadPage,
        query=("filter", "limit", "cursor"),
    )
    async def list_followed_threads(
        caller: Caller, filter: str | None, limit: str | None, cursor: str | None
    ) -> FollowedThreadPage:
        """List the threads that one follows, those with the newest reply first."""
        found = await threads.page(caller, filter, read_limit(limit), cursor)
        listed = [FollowedThread(parent, state) for parent, state in found.threads]
        return FollowedThreadPage(listed, found.next, str(found.as_of))

    @section.endpoint(
        "PUT", "/me/threads/:messageId", body=FollowingThread, answer=OneThread, first=threads.check_thread
    )
    async def follow_thread(caller: Caller, message_id: str, body: FollowingThread) -> OneThread:
        """Follow a thread, or follow it no more."""
        return OneThread(await threads.set_following(caller, message_id, following=body.following))

    @section.endpoint(
        "PUT", "/me/threads/:messageId/read", body=Reading, answer=ReadThread, first=threads.check_thread
    )
    async def read_thread(caller: Caller, message_id: str, body: Reading) -> ReadThread:
        """Note that a thread was shown up to a reply."""
        return ReadThread(*await threads.read(caller, message_id, body.position, body.generation))

    @section.endpoint(
        "PUT", "/me/threads/:messageId/unread", body=Unreading, answer=OneThread, first=threads.check_thread
    )
    async def unread_thread(caller: Caller, message_id: str, body: Unreading) -> OneThread:
        """Mark a thread as unread from a reply on."""
        return OneThread(await threads.unread(caller, message_id, body.first))

    return section
