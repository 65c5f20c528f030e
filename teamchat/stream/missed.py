"""What a client missed: from memory as far back as that reaches, otherwise from the log (decision D-34).

A thousand clients that come back together, for example after a restart, read the same. So the log is read in
pages that begin at fixed numbers; a page that several clients want is read once, the latest pages are cached
for a while, and only a few reads run at a time. What `Recent` has costs the database nothing.

None of these pages contains the text of a message that was deleted or edited since: `blank` removes it from
the cached pages, and from those that are being read and may be older.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import trio

from teamchat.events import LoggedEvent, is_internal
from teamchat.interfaces import Storage
from teamchat.storage.log import Blanking, logged_in
from teamchat.stream.recent import Recent, portion
from teamchat.stream.sse import Frame

_PAGE = 64  # With the default limits an event is under 64 KiB, and so a page under 4 MiB.
_KEPT_BYTES = 8 * 1024 * 1024
_READERS = 4


class Page(NamedTuple):
    """The frames of a part of the log, up to `reaches`, and the number of the log's first event (or None).

    `messages` are those of which it had the text when it was read.
    """

    frames: Sequence[Frame]
    reaches: int
    first: int | None
    messages: frozenset[str | None]

    @property
    def size(self) -> int:
        return sum(len(frame.plain) for frame in self.frames)

    def blank(self, blanking: Blanking, before: int) -> int:
        """Let go of the text of messages that event `before` tells of, and return how many bytes that was.

        Few pages have anything of a message: that is found out without a look at each frame.
        """
        if blanking.message_ids is not None and self.messages.isdisjoint(blanking.message_ids):
            return 0
        size = self.size
        for frame in self.frames:
            if frame.position < before and blanking.concerns(frame.text_room, frame.text_message):
                frame.blank(blanking.fields)
        return size - self.size


class _Reading:
    """A page that is being read, and what is blanked meanwhile."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.blanked: list[tuple[Blanking, int]] = []


async def read_log(storage: Storage, after: int, limit: int) -> tuple[int | None, list[LoggedEvent]]:
    """Return the number of the log's first event, and up to `limit` events after `after`."""
    async with storage.read() as tx:
        [(first,)] = await tx.fetch("select min(seq) from events")
        events = await logged_in(tx, after, limit)
    await trio.lowlevel.checkpoint()  # An embedded storage answers without one.
    return first, events


def visible(events: Sequence[LoggedEvent]) -> list[Frame]:
    """Frame the events that clients may see."""
    return [Frame(event) for event in events if not is_internal(event.type)]


class Missed:
    """Finds what follows a position. `recent` is filled by the hub."""

    def __init__(self, storage: Storage, recent: Recent) -> None:
        self._storage = storage
        self._recent = recent
        self._pages: dict[int, Page] = {}  # the one used last at the end
        self._kept = 0
        self._reading: dict[int, _Reading] = {}
        self._readers = trio.CapacityLimiter(_READERS)

    async def after(self, position: int) -> tuple[Sequence[Frame], int] | None:
        """Return some of what follows `position`, and how far that reaches; at most about 32 KiB.

        None if the log no longer reaches back that far.  Raises `StorageError`.
        """
        held = self._recent.after(position)
        if held is not None:
            return held
        page = await self._page(position // _PAGE)
        if page.first is None or page.first > position + 1:
            return None
        return portion(page.frames, position, page.reaches)

    def blank(self, blanking: Blanking, before: int) -> None:
        """Let go of what was said in messages that were deleted or edited: event `before` tells of it."""
        self._recent.blank(blanking)
        for reading in self._reading.values():
            reading.blanked.append((blanking, before))
        for page in self._pages.values():
            self._kept -= page.blank(blanking, before)

    async def _page(self, number: int) -> Page:
        while (page := self._pages.pop(number, None)) is None:
            if (reading := self._reading.get(number)) is None:
                return await self._read_for_all(number)
            await reading.done.wait()
        self._pages[number] = page
        return page

    async def _read_for_all(self, number: int) -> Page:
        reading = self._reading[number] = _Reading()
        try:
            async with self._readers:
                page = await self._read(number, reading)
        finally:
            del self._reading[number]
            reading.done.set()
        return page

    async def _read(self, number: int, reading: _Reading) -> Page:
        start, handed_out = number * _PAGE, self._recent.last
        first, events = await read_log(self._storage, start, _PAGE)
        # The log was read after the hub was at `handed_out`: up to there, what was not found is not there.
        full = start + _PAGE
        within = [event for event in events if event.seq <= full]
        reaches = full if full <= handed_out else max(handed_out, within[-1].seq if within else 0)
        messages = frozenset(event.text_message for event in within)
        page = Page(visible(within), reaches, first, messages)
        for blanking, before in reading.blanked:
            page.blank(blanking, before)
        if reaches == full:
            self._keep(number, page)
        return page

    def _keep(self, number: int, page: Page) -> None:
        self._pages[number] = page
        self._kept += page.size
        while self._kept > _KEPT_BYTES and len(self._pages) > 1:
            oldest = next(iter(self._pages))
            self._kept -= self._pages.pop(oldest).size
