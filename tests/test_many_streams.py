"""Streams that are opened and closed in great number leave nothing behind: no memory, and no descriptor."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from teamchat.server.process import FILES_AT_FIRST
from teamchat.testing import DEADLINE, Server
from tests.harness import running

FIRST, MORE, AT_ONCE = 1_000, 15_000, 50
MOST_BYTES = 12 * 1024 * 1024
"""How much memory may be more afterwards: 0.8 KiB for each, a tenth of what one takes while it is open."""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("http1", ["native", "hypercorn"])
async def test_streams_that_come_and_go_leave_nothing_behind(tmp_path: Path, http1: str) -> None:
    async with running(
        tmp_path, server={"http1": http1}, events={"maxStreamsPerUser": 1000}
    ) as server, await server.sign_in() as ada:  # fmt: skip
        token = ada.headers["Authorization"].removeprefix("Bearer ")
        descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        await come_and_go(server, token, FIRST)
        before = memory(server)
        await come_and_go(server, token, MORE)
        with trio.fail_after(DEADLINE):
            while len(os.listdir(f"/proc/{server.process.pid}/fd")) > descriptors + 5:
                assert (await ada.get("/health")).status_code == 200
        assert memory(server) - before < MOST_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how large the table is")
async def test_the_table_of_open_files_is_large_before_streams_come(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        told = trio.Path(f"/proc/{server.process.pid}")
        status, limits = await (told / "status").read_text(), await (told / "limits").read_text()
    room = int(status.split("FDSize:")[1].split()[0])
    most = limits.split("Max open files")[1].split()[0]
    assert room >= (FILES_AT_FIRST if most == "unlimited" else min(FILES_AT_FIRST, int(most)))


async def come_and_go(server: Server, token: str, count: int) -> None:
    """Open so many streams and leave them: half when the first event has come, half at once."""
    for _ in range(count // AT_ONCE):
        with trio.fail_after(DEADLINE):
            async with trio.open_nursery() as nursery:
                for number in range(AT_ONCE):
                    nursery.start_soon(open_one, server, token, number % 2 == 0)


async def open_one(server: Server, token: str, reads: bool) -> None:
    stream = await trio.open_tcp_stream("127.0.0.1", int(server.base.rpartition(":")[2]))
    async with stream:
        await stream.send_all(f"GET /events?token={token}&lastEventId= HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        got = b""
        while reads and b"CONNECTED" not in got:
            piece = await stream.receive_some()
            assert piece, got
            got += piece


def memory(server: Server) -> int:
    """Return the bytes that a server has in memory."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
