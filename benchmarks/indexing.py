"""How far the index of the search is, as its database tells: for scenarios that wait for it."""

from __future__ import annotations

import time

import trio
from teamchat_search.index import Index, index_of

from benchmarks.storages import Place
from teamchat.interfaces import SpeaksDialect, Storage

DEADLINE = 7200.0  # seconds


def index_on(storage: Storage) -> Index:
    """Return the index of a storage."""
    assert isinstance(storage, SpeaksDialect)
    index = index_of(storage.dialect)
    assert index is not None
    return index


async def is_filled(place: Place) -> bool:
    """Whether every message is in the index."""
    async with place.opened() as storage, storage.read() as tx:
        index = index_on(storage)
        return await index.is_there(tx) and (await index.state(tx)).is_filled


async def until_filled(place: Place, began: float) -> tuple[float, int]:
    """Wait until every message is in the index; return how long it took, and how large it is."""
    while not await is_filled(place):
        if time.perf_counter() - began > DEADLINE:
            raise RuntimeError("the index is not filled in time")
        await trio.sleep(0.1)
    seconds = time.perf_counter() - began
    async with place.opened() as storage, storage.read() as tx:
        return seconds, await index_on(storage).size(tx)


async def until_heard(place: Place) -> None:
    """Wait until the index has come to the end of the log."""
    async with place.opened() as storage:
        while True:
            async with storage.read() as tx:
                position = (await index_on(storage).state(tx)).position
            if position == await storage.position():
                return
            await trio.sleep(0.05)
