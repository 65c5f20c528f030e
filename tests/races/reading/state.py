"""What one user has read in a place and in its threads."""

from __future__ import annotations

from typing import NamedTuple

BEGINNING = "0" * 32


class Mark(NamedTuple):
    """Up to which id somebody has read, and whether they have marked something as unread.

    `generation` is None while nobody was told of it: it is `least` then, or more, for a state is newer than
    all that ended before it.
    """

    position: str = BEGINNING
    generation: int | None = None
    least: int = 0
    is_marked: bool = False

    def successor(self, position: str) -> Mark:
        """Return the mark of who is a member again, and has nothing unread."""
        return Mark(position, None, (self.least if self.generation is None else self.generation) + 1)


class Thread(NamedTuple):
    """Up to which reply somebody has read in a thread, and whether they follow it, or have ended that.

    What is after `since` has come since they follow it.
    """

    position: str
    generation: int = 0
    is_marked: bool = False
    is_following: bool = False
    is_ended: bool = False
    since: str = ""


class State(NamedTuple):
    """What one user has read in a place, and in those of its threads that they have something to do with."""

    mark: Mark
    threads: tuple[tuple[str, Thread], ...] = ()

    def thread(self, parent: str) -> Thread | None:
        """Return where the user stands in a thread, if anything was noted of it."""
        return dict(self.threads).get(parent)

    def with_thread(self, parent: str, thread: Thread | None) -> State:
        """Return the state with another one of a thread, or with none."""
        threads = dict(self.threads)
        threads.pop(parent, None)
        if thread is not None:
            threads[parent] = thread
        return self._replace(threads=tuple(sorted(threads.items())))

    def follows(self, parent: str) -> bool:
        """Whether the user follows a thread."""
        thread = self.thread(parent)
        return thread is not None and thread.is_following
