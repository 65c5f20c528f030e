"""Whose file is looked at next: uploaders take turns, so that one with many files holds up nobody else's."""

from __future__ import annotations

from collections import OrderedDict, deque

import trio


class Turns:
    """The files that wait, `most` at most. Each turn is of the uploader who has waited longest for one."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._files: OrderedDict[str, deque[str]] = OrderedDict()
        self._waiting = trio.Semaphore(0)

    def put(self, uploader_id: str, file_id: str) -> bool:
        """Add a file behind the others of its uploader. Return whether there was room."""
        if not self._room:
            return False
        self._room -= 1
        self._files.setdefault(uploader_id, deque()).append(file_id)
        self._waiting.release()
        return True

    async def take(self) -> str:
        """Wait for a file, and return the one whose turn it is."""
        await self._waiting.acquire()
        self._room += 1
        uploader_id, files = self._files.popitem(last=False)
        file_id = files.popleft()
        if files:
            self._files[uploader_id] = files  # Behind everybody else.
        return file_id
