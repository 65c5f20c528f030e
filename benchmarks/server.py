"""A real server in its own process, for a benchmark to talk to over loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

START_DEADLINE = 15.0  # seconds
EMAIL = "admin@localhost"


@dataclass(frozen=True)
class Running:
    """Where the server listens, and a token to speak to it with."""

    port: int
    process: trio.Process


@asynccontextmanager
async def running(data: Path, *, extra: Sequence[str] = ()) -> AsyncIterator[Running]:
    """Start ``teamchat serve`` in dev mode on a free port and end it by SIGTERM."""
    config = data / "bench.json"
    config.write_text(
        json.dumps(
            {
                "auth": {"authMode": "dev"},
                "chat": {"initialUser": {"email": EMAIL}},
                "server": {"host": "127.0.0.1", "port": 0},
                "storage": {"path": str(data / "data")},
            }
        )
    )
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config), *extra]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        with trio.fail_after(START_DEADLINE):
            port = await _port_of(process)
        yield Running(port, process)
    finally:
        process.terminate()
        with trio.CancelScope(shield=True):
            await process.wait()


async def _port_of(process: trio.Process) -> int:
    """Read the line in which the server says that it is ready."""
    assert process.stdout is not None
    text = b""
    async for piece in process.stdout:
        text += piece
        for line in text.decode().splitlines():
            if "ready on http" in line and text.endswith(b"\n"):
                return int(line.rsplit(":", 1)[1].strip("/ \n"))
    raise RuntimeError("the server ended before it was ready")
