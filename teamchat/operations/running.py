"""Whether a server runs on a storage, for what must not be done under one.

A server has a row in ``members`` and beats (`teamchat.cluster`).  One that was killed has left its row
behind: it is watched for two beats and a half before it is taken for dead.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from teamchat.cluster.members import BEAT_SECONDS
from teamchat.errors import StorageError
from teamchat.interfaces import Storage

WATCH_SECONDS = 2.5 * BEAT_SECONDS
_LOOK_SECONDS = 0.5


async def is_running(storage: Storage, waits: Callable[[], object] = lambda: None) -> bool:
    """Return whether a server runs on this storage; `waits` is called if that takes a while to find out."""
    first = await _beats(storage)
    if not first:
        return False
    waits()
    deadline = trio.current_time() + WATCH_SECONDS
    while trio.current_time() < deadline:
        await trio.sleep(_LOOK_SECONDS)
        now = await _beats(storage)
        if not now:
            return False  # all have signed off
        if any(first.get(member) != beats for member, beats in now.items()):
            return True
    return False


async def refuse_running(storage: Storage, which: str, waits: Callable[[], object] = lambda: None) -> None:
    """Raise `StorageError` if a server runs on this storage; `which` says whose it is."""
    if await is_running(storage, waits):
        raise StorageError(
            f"A server runs on {which}. Stop it first (every one of them), and give the command again."
        )


async def _beats(storage: Storage) -> dict[str, int]:
    async with storage.read() as tx:
        return dict(await tx.fetch("select id, beats from members"))
