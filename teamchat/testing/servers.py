"""A real server for a test: a process of its own, in a directory of its own, on a free port.

The server gets nothing from the machine but the packages of this interpreter, so a test has the same result
everywhere. A server that does not start, or does not end cleanly, fails the test with what it said. No server
outlives its test.
"""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import trio

ADMIN = "admin@localhost"
"""The email of the first user of a server that `running` starts."""
PASSWORD = "a long enough password"  # noqa: S105 - of no real account
"""That user's password, where the way to sign in asks for one."""
DEADLINE = 60.0
"""How many seconds whatever waits here waits: far more than anything takes, on a busy machine too."""
_open_process = trio.lowlevel.open_process
_ENDS = {0, -signal.SIGKILL, 128 + signal.SIGTERM}
"""How a server may end: when it was asked to, when a test has killed it, and when it was asked twice."""
_SAID_BYTES = 8_000


@dataclass
class Server:
    """A running server: its address, its process, and the directory that everything of it is in."""

    base: str
    process: trio.Process
    directory: Path

    @property
    def mails(self) -> Path:
        """Where its mails are, with ``email={"backend": "files"}``; see `mailed`."""
        return self.directory / "data" / "mails"

    def client(self, token: str = "") -> httpx2.AsyncClient:
        """Return a client of this server, which carries the access token if one is given."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(base_url=self.base, headers=headers, timeout=DEADLINE, trust_env=False)

    async def sign_in(self, email: str = ADMIN) -> httpx2.AsyncClient:
        """Sign in by dev-login, which makes who is not there yet; return a client that carries the token."""
        async with self.client() as client:
            answer = await client.post("/auth/dev-login", json={"email": email})
        assert answer.status_code == 200, f"{email} can't sign in: {answer.status_code} {answer.text}"
        return self.client(answer.json()["token"])

    async def end(self) -> int:
        """Send SIGTERM and return the exit status. Raises `trio.TooSlowError` after 60 seconds."""
        self.process.terminate()
        with trio.fail_after(DEADLINE):
            return await self.process.wait()

    def logged(self) -> str:
        """Return what it has written to its log so far."""
        log = self.directory / "server.log"
        return log.read_text(errors="replace") if log.exists() else ""

    async def until_logged(self, words: str, seconds: float = DEADLINE) -> str:
        """Wait until these words are in its log, and return the line.

        Raises `AssertionError` if they are not there within so many seconds.
        """
        with trio.move_on_after(seconds):
            # Another process writes it: there is no event to wait for.
            while not (lines := [line for line in self.logged().splitlines() if words in line]):  # noqa: ASYNC110
                await trio.sleep(0.02)
            return lines[0]
        raise AssertionError(f"the server has not logged {words!r} within {seconds:g} seconds")


@asynccontextmanager
async def running(
    directory: Path, *, plugin: ModuleType | None = None, **sections: Mapping[str, Any]
) -> AsyncIterator[Server]:
    """Run a server for as long as the context lasts::

        async with running(tmp_path, plugin=teamchat_motd, plugins={"motd": {"text": "hi"}}) as server:
            async with server.client() as anybody, await server.sign_in() as admin:
                assert (await anybody.get("/motd")).json() == {"text": "hi"}

    It signs people in by dev-login, so the plugin ``teamchat-auth-dev`` has to be installed.  Its admin is
    `ADMIN`, with the password `PASSWORD` where a mode asks for one; its data are in ``directory/data``, and
    it works in `directory`.  `sections` are those of the configuration, each by its name; their keys count
    over what has just been said.  `plugin` is the module under test: it must be installed, for it is the
    installed plugins that are active.

    Raises `AssertionError`, with what the server said, if the plugin is not installed, if the server does not
    start, or if it ends in another way than it was asked to.
    """
    if plugin is not None:
        _check_installed(plugin)
    config = _configure(directory, sections)
    with (directory / "server.log").open("wb") as log:
        process = await _open_process(
            [sys.executable, "-m", "teamchat", "serve", "--config", str(config)],
            cwd=directory,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=log,
        )
    server = Server("", process, directory)
    try:
        server.base = await _address(server)
        yield server
        status = await server.end() if process.returncode is None else process.returncode
        assert status in _ENDS, f"the server ended with the status {status}"
    except Exception as error:
        error.add_note(_said(server))
        raise
    finally:
        await _clear(process)


def _configure(directory: Path, sections: Mapping[str, Mapping[str, Any]]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "teamchat.json"
    config.write_text(json.dumps(_settings(directory, sections)))
    return config


def _settings(directory: Path, sections: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    settings: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "dev", "isInviteRequired": False, "maxActiveSessions": 50},
        "chat": {"initialUser": {"userName": "Ada", "email": ADMIN, "password": PASSWORD}},
        "server": {"host": "127.0.0.1", "port": 0},
        "storage": {"path": str(directory / "data")},
    }
    for name, keys in sections.items():
        settings[name] = settings.get(name, {}) | dict(keys)
    return settings


def _environment() -> dict[str, str]:
    """Return this process's environment without what would be settings of the server."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TEAMCHAT_") and name != "INITIAL_USER_PASSWORD"
    }


def _check_installed(plugin: ModuleType) -> None:
    installed = {entry.module for entry in metadata.entry_points(group="teamchat")}
    assert plugin.__name__ in installed, (
        f"{plugin.__name__} is not installed as a plugin: no entry point `teamchat` leads to it. "
        "In its directory: pip install --editable ."
    )


async def _address(server: Server) -> str:
    assert server.process.stdout is not None
    text = ""
    with trio.move_on_after(DEADLINE):
        async for piece in server.process.stdout:
            text += piece.decode()
            for line in text.splitlines():
                if "ready on " in line and text.endswith("\n"):
                    return line.rpartition("ready on ")[2].strip().rstrip("/")
        status = await server.process.wait()
        raise AssertionError(f"the server did not start, and ended with the status {status}: {text}")
    raise AssertionError(f"the server did not start within {DEADLINE:g} seconds: {text}")


def _said(server: Server) -> str:
    return f"The server's log:\n{server.logged()[-_SAID_BYTES:] or '(nothing)'}"


async def _clear(process: trio.Process) -> None:
    if process.returncode is None:
        process.kill()
    with trio.CancelScope(shield=True):
        await process.wait()
    if process.stdout is not None:
        await process.stdout.aclose()
