"""A real server in a process of its own, and what a test needs to talk to it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import h11
import httpx2
import trio

from tests.storages import storage_section

ADMIN = "admin@localhost"
PASSWORD = "a long enough password"
DEADLINE = 60.0  # seconds; far above what anything here takes, on a busy machine too


@dataclass
class Server:
    """A running server."""

    base: str
    process: trio.Process

    def client(self, token: str = "") -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(base_url=self.base, headers=headers, timeout=DEADLINE)

    async def sign_in(self, email: str = ADMIN) -> httpx2.AsyncClient:
        """Sign in by dev-login and return a client that carries the token."""
        async with self.client() as client:
            answer = await client.post("/auth/dev-login", json={"email": email})
        assert answer.status_code == 200, answer.text
        return self.client(answer.json()["token"])

    async def end(self) -> int:
        """Send SIGTERM and return the exit status."""
        self.process.terminate()
        with trio.fail_after(DEADLINE):
            return await self.process.wait()


@asynccontextmanager
async def running(directory: Path, **sections: dict[str, Any]) -> AsyncIterator[Server]:
    """Start a server in dev mode on a free port, with its data in `directory`; `sections` override."""
    settings: dict[str, dict[str, Any]] = {
        "auth": {"authMode": "dev", "isInviteRequired": False, "maxActiveSessions": 50},
        "chat": {"initialUser": {"userName": "Ada", "email": ADMIN, "password": PASSWORD}},
        "server": {"host": "127.0.0.1", "port": 0},
        "storage": storage_section(directory / "data"),
    }
    for name, keys in sections.items():
        settings[name] = settings.get(name, {}) | keys
    if "backend" in (storage := sections.get("storage", {})):  # and nothing of the one it replaces
        settings["storage"] = {"path": str(directory / "data")} | storage
    config = directory / "teamchat.json"
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        with trio.fail_after(DEADLINE):
            base = await _address(process)
        yield Server(base, process)
    finally:
        if process.returncode is None:
            process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        if process.stdout is not None:
            await process.stdout.aclose()


def free_port() -> int:
    """Return a port that is free now, for a server that must come back on the same one."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])


async def _address(process: trio.Process) -> str:
    assert process.stdout is not None
    text = ""
    async for piece in process.stdout:
        text += piece.decode()
        for line in text.splitlines():
            if "ready on " in line and text.endswith("\n"):
                return line.rpartition("ready on ")[2].strip().rstrip("/")
    raise AssertionError(f"the server ended before it was ready: {text}")


async def mailed(directory: Path, recipient: str, number: int = 1) -> str:
    """Wait until so many mails to `recipient` stand in `directory`; return the link in the newest."""
    with trio.fail_after(DEADLINE):
        # Another process writes the files: there is no event to wait for.
        while len(links := _mailed_links(directory, recipient)) < number:  # noqa: ASYNC110
            await trio.sleep(0.02)
    return links[-1]


def _mailed_links(directory: Path, recipient: str) -> list[str]:
    links = []
    for file in sorted(directory.glob("*.eml")):
        mail = message_from_bytes(file.read_bytes(), policy=policy.default)
        if mail["To"] == recipient:
            body = mail.get_body(("plain",))
            assert body is not None
            links += re.findall(r"https?://\S+", body.get_content())
    return links


class Events:
    """The events of one stream, in the order they came, read from a socket of its own by h11."""

    def __init__(self, stream: trio.SocketStream, request: bytes) -> None:
        self._stream = stream
        self._request = request
        self._reader = h11.Connection(our_role=h11.CLIENT)
        self._text = b""
        self.last_id = ""

    async def open(self) -> None:
        """Send the request; the answer must be a stream whose first event is CONNECTED."""
        target = self._request.decode()
        await self._stream.send_all(
            self._reader.send(h11.Request(method="GET", target=target, headers=[("Host", "localhost")]))
        )
        assert (await self.next())["type"] == "CONNECTED"

    async def next(self) -> dict[str, Any]:
        """Wait for the next event."""
        with trio.fail_after(DEADLINE):
            while True:
                while b"\n" not in self._text:
                    await self._more()
                line, _, self._text = self._text.partition(b"\n")
                if line.startswith(b"id: "):
                    self.last_id = line.removeprefix(b"id: ").decode()
                if line.startswith(b"data: "):
                    event: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                    return event

    async def until(self, kind: str) -> dict[str, Any]:
        """Wait for an event of this type and return its payload."""
        while True:
            event = await self.next()
            if event["type"] == kind:
                payload: dict[str, Any] = event["payload"]
                return payload

    async def _more(self) -> None:
        read = self._reader.next_event()
        if read is h11.NEED_DATA:
            self._reader.receive_data(await self._stream.receive_some())
        elif isinstance(read, h11.Response):
            assert read.status_code == 200
        elif isinstance(read, h11.Data):
            self._text += bytes(read.data)
        else:
            raise AssertionError("the stream ended")


@asynccontextmanager
async def listening(client: httpx2.AsyncClient, **query: str) -> AsyncIterator[Events]:
    """Open the live stream with the token of `client` and read CONNECTED."""
    token = client.headers["Authorization"].removeprefix("Bearer ")
    target = "/events?" + urlencode({"token": token} | query)
    base = client.base_url
    assert base.port is not None
    async with await trio.open_tcp_stream(base.host, base.port) as stream:
        events = Events(stream, target.encode())
        await events.open()
        yield events
