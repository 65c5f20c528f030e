"""A server of several processes, and what a test needs to tell them apart.

A connection is taken by whichever worker comes first.  A test that wants a certain one stops the others for
that moment (`only`), as the kernel stops a process: they take nothing and lose nothing.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import trio

from teamchat.testing import ADMIN, DEADLINE, Server
from tests.storages import storage_section

PATIENCE = 60.0  # seconds; a machine that is busy takes long to start an interpreter


@dataclass
class Several(Server):
    """A supervisor and its workers."""

    log: Path
    said: str = ""
    """What it has said on its standard output: all of it, once it has ended."""
    seen: set[int] = field(default_factory=set)
    """All workers that a test has looked at."""

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def workers(self) -> set[int]:
        """Return the process ids of the workers there are now."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        found: set[int] = set()
        with suppress(FileNotFoundError, ProcessLookupError):
            found = {int(child) for thread in threads for child in thread.read_text().split()}
        self.seen |= found
        return found

    async def replaced(self, gone: int, others: set[int]) -> int:
        """Wait until one that is neither `gone` nor of `others` is there and serves; return its id."""
        await until(lambda: len(self.workers() - {gone} - others) > 0)
        [new] = self.workers() - {gone} - others
        await self.serves(new)
        return new

    async def serves(self, worker: int) -> None:
        """Wait until this worker answers."""
        with self.only(worker):
            await self.answers()

    async def answers(self) -> None:
        """Wait until somebody answers."""
        async with httpx2.AsyncClient(base_url=self.base, timeout=PATIENCE) as client:
            assert (await client.get("/health")).status_code == 200

    @contextmanager
    def only(self, worker: int) -> Iterator[None]:
        """Let this worker alone take connections meanwhile."""
        with self.without(self.workers() - {worker}):
            yield

    @contextmanager
    def without(self, workers: set[int]) -> Iterator[None]:
        """Let others than these take connections meanwhile."""
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        try:
            yield
        finally:
            for worker in workers & self.workers():
                os.kill(worker, signal.SIGCONT)

    @asynccontextmanager
    async def client_at(self, worker: int, token: str) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client with one connection, which this worker has taken."""
        async with httpx2.AsyncClient(
            base_url=self.base,
            headers={"Authorization": f"Bearer {token}"},
            timeout=DEADLINE,
            limits=httpx2.Limits(max_connections=1, keepalive_expiry=None),
        ) as client:
            with self.only(worker):
                assert (await client.get("/health")).status_code == 200
            yield client

    def logged(self) -> list[dict[str, Any]]:
        """Return what the supervisor and the workers have logged of each other."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["logger"].startswith("teamchat.server.workers")]


@asynccontextmanager
async def several(directory: Path, **sections: dict[str, Any]) -> AsyncIterator[Several]:
    """Start a server of two workers in dev mode on a free port; `sections` override."""
    settings: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "dev", "isInviteRequired": False, "maxActiveSessions": 50},
        "chat": {"initialUser": {"userName": "Ada", "email": ADMIN, "password": "a long enough password"}},
        "server": {"host": "127.0.0.1", "port": 0, "workers": 2},
        "storage": storage_section(directory / "data"),
        "events": {"maxStreamsPerUser": 1000},
    }
    for name, keys in sections.items():
        settings[name] = settings.get(name, {}) | keys
    config = directory / "teamchat.json"
    config.write_text(json.dumps(settings))
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # The tests may run under nohup.
    try:
        with (directory / "log").open("wb") as log:
            process = await trio.lowlevel.open_process(
                command(config), stdout=subprocess.PIPE, stderr=log, env=environment(directory)
            )
    finally:
        signal.signal(signal.SIGHUP, before)
    server = Several("", process, directory, directory / "log")
    try:
        with trio.fail_after(PATIENCE):
            await _ready(server)
        yield server
    finally:
        await _clear(server)


def command(config: Path) -> list[str]:
    """Return the command that serves with this configuration."""
    return [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]


def environment(directory: Path) -> dict[str, str]:
    """Return an environment in which what a test put into `directory` can be imported."""
    paths = [str(directory), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


async def _ready(server: Several) -> None:
    assert server.process.stdout is not None
    while not (ready := re.search(r"is ready on (\S+)\n", server.said)):
        piece = await server.process.stdout.receive_some()
        assert piece, f"it ended before it was ready: {server.said}{server.log.read_text()}"
        server.said += piece.decode()
    server.base = ready[1]


async def _clear(server: Several) -> None:
    """Leave no process behind, whatever the test has done to them, and read what was said last."""
    process = server.process
    assert process.stdout is not None
    for pid in server.workers():
        os.kill(pid, signal.SIGCONT)
    if process.returncode is None:
        process.kill()
    with trio.CancelScope(shield=True):
        await process.wait()
        with trio.move_on_after(PATIENCE):
            await gone(server.seen)
        for pid in server.seen:
            if _is_worker(pid):  # The test has failed, and must not leave it behind.
                os.kill(pid, signal.SIGKILL)
        async with process.stdout as rest:
            async for piece in rest:
                server.said += piece.decode()


def _is_worker(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return b"teamchat.server.workers" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


async def gone(workers: set[int]) -> None:
    """Wait until none of these processes is there, not even as a zombie."""
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


async def until(is_so: Any) -> None:
    """Wait for something that other processes bring about: there is no event to wait for."""
    with trio.fail_after(PATIENCE):
        while not is_so():  # noqa: ASYNC110
            await trio.sleep(0.01)
