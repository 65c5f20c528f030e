"""What there is to do for an index beside writing it: nothing, where its database sees to that.

An index of segments is to have few, for a search looks in each, and what was erased is to be out of the file
some day. That is done some pages at a time, for all other writers wait meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import trio

from teamchat import Storage, Transaction
from teamchat.model import now_ms
from teamchat_search.index import Index, Segments

CLEAN_MS = 24 * 3600 * 1000
"""How often what erased messages have left is taken out of the file, if any were."""
LOOSE = 20_000
"""After how many documents, or an eighth of all, the index is put together."""
_CLEANED = 200
_MOST_SEGMENTS = 16
"""How many there may be while the index is written."""
_MOST_MERGES = 32
"""How often they are merged after something was written, where there are more."""
_FEWEST_PAGES, _MOST_PAGES = 8, 128
_SHORT_SECONDS, _LONG_SECONDS = 0.002, 0.006

Hold = Callable[[Transaction], Awaitable[None]]
"""Sees to it, within a write, that this process still has the index."""


class Upkeep:
    """Does it for an index that needs none."""

    is_compacting = False
    """Whether all is put together now, which begins anew once something is written."""

    async def begin(self, tx: Transaction) -> None:
        """Begin with an index that this process has taken."""

    async def clean(self) -> bool:
        """Take out some of what was erased. Returns whether there was any."""
        return False

    async def written(self) -> None:
        """See to it that what was just written is not one segment too many."""

    async def merge(self) -> bool:
        """Make fewer segments. Returns whether anything was done, or may be."""
        return False

    async def compact(self) -> bool:
        """Put all together, if much was written or something erased. Returns whether anything was done."""
        return False


class SegmentsUpkeep(Upkeep):
    """Does it for an index of segments."""

    def __init__(self, storage: Storage, index: Index, segments: Segments, hold: Hold) -> None:
        self._storage = storage
        self._index = index
        self._segments = segments
        self._hold = hold
        self._pages = _FEWEST_PAGES
        self._written = 0
        """How often was written since there was something to merge."""
        self._is_loose = False
        """Whether there may be something to merge."""

    async def begin(self, tx: Transaction) -> None:
        self._is_loose, self.is_compacting = True, False
        await self._segments.prepare(tx)

    async def clean(self) -> bool:
        async with self._storage.read() as tx:
            if not await self._segments.has_erased(tx):
                return False
        async with self._storage.write() as tx:
            await self._hold(tx)
            await self._segments.clean(tx, _CLEANED)
            # From now on grams of erased messages are in the file until it is compacted.
            await tx.fetch(
                "update search_state set cleaned_at = $1 where id = 1 and cleaned_at = 0", now_ms()
            )
        self._is_loose = True
        return True

    async def written(self) -> None:
        self._written += 1
        if self._written >= self._segments.merged_of:
            self._written, self._is_loose = 0, True
        for _ in range(_MOST_MERGES):
            async with self._storage.read() as tx:
                if await self._segments.count(tx) <= _MOST_SEGMENTS:
                    return
            began = trio.current_time()
            if not await self._merge():
                return
            await trio.sleep(trio.current_time() - began)

    async def merge(self) -> bool:
        return self._is_loose and await self._merge()

    async def _merge(self) -> bool:
        async with self._storage.write() as tx:
            await self._hold(tx)
            with self._timed():
                self._is_loose = await self._segments.merge(tx, self._pages)
        return self._is_loose

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Have more pages merged at once next time, or fewer.

        Where much was erased one takes ten times as long.
        """
        began = trio.current_time()
        yield
        took = trio.current_time() - began
        if took < _SHORT_SECONDS:
            self._pages = min(2 * self._pages, _MOST_PAGES)
        elif took > _LONG_SECONDS:
            self._pages = max(self._pages // 2, _FEWEST_PAGES)

    async def compact(self) -> bool:
        async with self._storage.read() as tx:
            [(cleaned_at, loose, most)] = await tx.fetch(
                "select cleaned_at, loose, most_loose from search_state where id = 1"
            )
        is_cleaned = cleaned_at and now_ms() - cleaned_at >= CLEAN_MS
        if not is_cleaned and loose < most:
            return False
        async with self._storage.write() as tx:
            await self._hold(tx)
            with self._timed():
                self.is_compacting = await self._segments.compact(tx, self._pages)
        if self.is_compacting:
            return True
        async with self._storage.read() as tx:
            most = max(LOOSE, await self._index.count(tx) // 8)
        async with self._storage.write() as tx:
            await self._hold(tx)
            await tx.fetch(
                "update search_state set cleaned_at = 0, loose = 0, most_loose = $1 where id = 1", most
            )
        return True


def upkeep_of(index: Index, storage: Storage, hold: Hold) -> Upkeep:
    """Return what does it for an index."""
    return Upkeep() if index.segments is None else SegmentsUpkeep(storage, index, index.segments, hold)
