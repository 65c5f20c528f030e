"""Thumbnails, made by a process of their own (G-8).

Whatever a picture does to that process (``thumbnailer.py``), here it means that there is no thumbnail: the
process is limited in memory, CPU time and pixels, and ended when it takes too long.  One at most is kept for
the next picture, for a while.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import trio

from teamchat.observability.logs import get_logger

MOST_BYTES = 64 * 1024 * 1024
"""Larger pictures have no thumbnail: the process holds them in its memory."""
SECONDS = 20.0
"""How long a picture may take, once all of it has been handed over."""
SILENCE_SECONDS = 20.0
"""How long the process may take no piece of a picture."""
KEPT_SECONDS = 60.0
"""How long a process waits for the next picture."""
MOST_THUMBNAIL_BYTES = 8 * 1024 * 1024

PROGRAM = Path(__file__).resolve().with_name("thumbnailer.py")
# As the program has them; it is not imported here, for it would bring Pillow into the server.
REQUEST = struct.Struct(">Q")
ANSWER = struct.Struct(">BIIII")
MADE = 0

_log = get_logger(__name__)


class Thumbnails(NamedTuple):
    """The picture's size in pixels as it is seen, and its thumbnails in WebP."""

    width: int
    height: int
    small: bytes
    large: bytes


class Thumbnailer:
    """Makes thumbnails, one at a time. Made by `open_thumbnailer`."""

    def __init__(self, nursery: trio.Nursery, program: Path) -> None:
        self._nursery = nursery
        self._program = program
        self._turn = trio.Lock()
        self._process: trio.Process | None = None
        self._last_used = 0.0

    async def make(self, chunks: AsyncIterator[bytes], size: int) -> Thumbnails | None:
        """Return the thumbnails of the picture of `size` bytes that `chunks` yields, or None.

        None means that there are none: it is no picture, a broken or a huge one. Raises only what `chunks`
        raises.
        """
        if not 0 < size <= MOST_BYTES:
            return None
        async with self._turn:
            process = self._process or await self._start()
            if process is None:
                return None
            self._process = None
            try:
                made = await self._asked(process, chunks, size)
                # Whoever is cancelled here, or whose chunks end early, leaves a process in the middle.
                self._keep(process)
                process = None
            except _Failed as failed:
                _log.warning("no thumbnail could be made", why=str(failed))
                return None
            finally:
                if process is not None:
                    await _end(process)
        return made

    async def _start(self) -> trio.Process | None:
        try:
            return await trio.lowlevel.open_process(
                [sys.executable, "-I", "-B", str(self._program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath, "MALLOC_ARENA_MAX": "1"},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            _log.error("the process that makes thumbnails can't be started", exc_info=error)
            return None

    async def _asked(
        self, process: trio.Process, chunks: AsyncIterator[bytes], size: int
    ) -> Thumbnails | None:
        await _send(process, REQUEST.pack(size))
        sent = 0
        async for chunk in chunks:
            sent += len(chunk)
            await _send(process, chunk)
        if sent != size:
            raise _Failed("its bytes ended early")
        with trio.move_on_after(SECONDS):
            return await _answer(process)
        raise _Failed("it took too long")

    def _keep(self, process: trio.Process) -> None:
        self._process = process
        self._last_used = trio.current_time()
        self._nursery.start_soon(self._end_when_idle, process)

    async def _end_when_idle(self, process: trio.Process) -> None:
        """End a process that made nothing for a while; one watcher is there for each time it was kept."""
        used = self._last_used
        await trio.sleep(KEPT_SECONDS)
        async with self._turn:
            if self._process is process and self._last_used == used:
                self._process = None
                await _end(process)

    async def aclose(self) -> None:
        """End the process that is kept."""
        process, self._process = self._process, None
        if process is not None:
            await _end(process)


@asynccontextmanager
async def open_thumbnailer(program: Path = PROGRAM) -> AsyncIterator[Thumbnailer]:
    """Make thumbnails as long as the context is open; the process is started with the first picture."""
    async with trio.open_nursery() as nursery:
        opened = Thumbnailer(nursery, program)
        try:
            yield opened
        finally:
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await opened.aclose()


class _Failed(Exception):
    """No thumbnail comes of it, and the process is not to be used again."""


async def _send(process: trio.Process, data: bytes) -> None:
    assert process.stdin is not None  # noqa: S101
    try:
        with trio.move_on_after(SILENCE_SECONDS):
            await process.stdin.send_all(data)
            return
    except trio.BrokenResourceError:
        raise _Failed("the process ended") from None
    raise _Failed("the process takes nothing")


async def _answer(process: trio.Process) -> Thumbnails | None:
    status, width, height, *lengths = ANSWER.unpack(await _exactly(process, ANSWER.size))
    if status != MADE:
        return None
    if max(lengths) > MOST_THUMBNAIL_BYTES:
        raise _Failed("the thumbnail is too large")
    small, large = [await _exactly(process, length) for length in lengths]
    return Thumbnails(width, height, small, large)


async def _exactly(process: trio.Process, length: int) -> bytes:
    assert process.stdout is not None  # noqa: S101
    received = bytearray()
    while len(received) < length:
        piece = await process.stdout.receive_some(min(length - len(received), 65536))
        if not piece:
            raise _Failed("the process ended")
        received += piece
    return bytes(received)


async def _end(process: trio.Process) -> None:
    """Kill it and wait: it has nothing that is worth keeping."""
    with trio.CancelScope(shield=True):
        process.kill()
        await process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                await pipe.aclose()
