"""Whether a server runs on a storage, for what must not be done while one does.

A server has a row in ``members`` and beats (`teamchat.cluster`). A server that was killed has left its row,
which is watched for two and a half beats before the server is taken for dead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import trio

from teamchat.cluster.members import BEAT_SECONDS, beats_in
from teamchat.errors import StorageError
from teamchat.interfaces import Storage, Transaction

WATCH_SECONDS = 2.5 * BEAT_SECONDS
_LOOK_SECONDS = 0.5


async def is_running(storage: Storage, waits: Callable[[], object] = lambda: None) -> bool:
    """Return whether a server runs on this storage; `waits` is called if that takes a while to find out."""
    return await _silent(storage, waits) is None


async def refuse_running(
    storage: Storage, which: str, waits: Callable[[], object] = lambda: None
) -> Mapping[str, int]:
    """Raise `StorageError` if a server runs on this storage; `which` says whose it is.

    Returns the rows of servers that were killed, for `refuse_started_in`.
    """
    silent = await _silent(storage, waits)
    if silent is None:
        raise _runs_on(which)
    return silent


async def refuse_started_in(tx: Transaction, which: str, silent: Mapping[str, int]) -> None:
    """Raise `StorageError` if a server has started since `refuse_running` has found those `silent` alone."""
    if any(silent.get(member) != beats for member, beats in await beats_in(tx)):
        raise _runs_on(which)


async def _silent(storage: Storage, waits: Callable[[], object]) -> Mapping[str, int] | None:
    """Watch all members, and return those that stood still, or None once one beats."""
    first = await _beats(storage)
    if not first:
        return first
    waits()
    deadline = trio.current_time() + WATCH_SECONDS
    now = first
    while now and trio.current_time() < deadline:  # Without any: all have signed off.
        await trio.sleep(_LOOK_SECONDS)
        now = await _beats(storage)
        if any(first.get(member) != beats for member, beats in now.items()):
            return None
    return now


async def _beats(storage: Storage) -> dict[str, int]:
    async with storage.read() as tx:
        return dict(await beats_in(tx))


def _runs_on(which: str) -> StorageError:
    return StorageError(
        f"A server runs on {which}. Stop it first (every one of them), and give the command again."
    )
