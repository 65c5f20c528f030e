"""The configurations of the page about reverse proxies, in real proxies in front of real servers."""

from __future__ import annotations

import base64
import re
import shutil
import signal
import struct
import subprocess
import textwrap
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE, Events
from tests.docs.pages import blocks
from tests.harness import free_port
from tests.two_servers.nodes import Node, begun, settings_of
from tests.two_servers.test_chat import channel_of, said
from tests.two_servers.test_sessions import ended

pytestmark = pytest.mark.slow

PAGE = "how-to/run-behind-a-reverse-proxy.md"
CLIENT = "127.0.0.2"  # not the proxy's own address, which is trusted
AT_ONCE = 5.0  # seconds; what is buffered waits for the first keep-alive comments, 15 seconds and more


@dataclass
class Front:
    """A proxy with two servers behind it. `prefix` is the path of the site that teamchat is at."""

    port: int
    prefix: str
    nodes: list[Node]
    log: Path | None
    """The access log; Caddy writes none."""

    def client(self, token: str = "", **headers: str) -> httpx2.AsyncClient:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        transport = httpx2.AsyncHTTPTransport(local_address=CLIENT)
        base = f"http://127.0.0.1:{self.port}{self.prefix}"
        return httpx2.AsyncClient(base_url=base, headers=headers, timeout=DEADLINE, transport=transport)

    async def signed_in(self, **headers: str) -> str:
        async with self.client(**headers) as client:
            answer = await client.post("/auth/dev-login", json={"email": "admin@localhost"})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["token"])

    @asynccontextmanager
    async def listening(self, token: str) -> AsyncIterator[Events]:
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            events = Events(stream, f"{self.prefix}/events?token={token}")
            with trio.fail_after(AT_ONCE):
                await events.open()
            yield events


def filled(text: str, nodes: list[Node]) -> str:
    """Put the servers' real ports in the place of the page's."""
    for told, node in zip(("127.0.0.1:3000", "127.0.0.1:3001"), nodes, strict=True):
        assert told in text
        text = text.replace(told, node.base.removeprefix("http://"))
    return text


def nginx(directory: Path, port: int, nodes: list[Node], *, at_path: bool) -> list[str]:
    whole, under_a_path = blocks(PAGE, "nginx")
    if at_path:
        whole = whole[: whole.index("    location / ")] + textwrap.indent(under_a_path, "    ") + "}\n"
    whole = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", whole)
    whole = re.sub(r" *ssl_.*\n", "", whole)
    whole = whole.replace("/var/log/nginx", str(directory))
    (directory / "nginx.conf").write_text(
        f"daemon off; pid {directory}/pid; error_log stderr; worker_processes 1; user root;\n"
        "events { worker_connections 256; }\n"
        f"http {{ {_temporary(directory)}\n{filled(whole, nodes)}}}\n"
    )
    return ["nginx", "-p", str(directory), "-c", str(directory / "nginx.conf")]


def _temporary(directory: Path) -> str:
    names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    return " ".join(f"{name}_temp_path {directory}/{name};" for name in names)


def caddy(directory: Path, port: int, nodes: list[Node], *, at_path: bool) -> list[str]:
    whole = blocks(PAGE, "caddy")[int(at_path)]
    site = "example.org" if at_path else "chat.example.org"
    whole = whole.replace(f"{site} {{", f"http://:{port} {{", 1)
    text = f"{{\n    admin off\n    storage file_system {directory}\n}}\n{filled(whole, nodes)}"
    (directory / "Caddyfile").write_text(text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(directory / "Caddyfile")]


PROGRAMS = {"nginx": nginx, "caddy": caddy}


@pytest.fixture(scope="module", params=["nginx", "caddy", "nginx at a path", "caddy at a path"])
def front(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    program, _, path = request.param.partition(" ")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    tmp_path = tmp_path_factory.mktemp(program)
    storage = {"backend": "sqlite", "path": str(tmp_path / "data")}
    server = {"trustedProxies": ["127.0.0.1", "::1"], "rateLimit": None}
    settings = settings_of(storage, server=server, auth={"maxActiveSessions": 50})
    with begun(tmp_path / "a", settings) as a, begun(tmp_path / "b", settings) as b:
        port, nodes = free_port(), [a, b]
        command = PROGRAMS[program](tmp_path, port, nodes, at_path=bool(path))
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)
        try:
            written = tmp_path / "teamchat.log" if program == "nginx" else None
            yield Front(port, "/chat" if path else "", nodes, written)
        finally:
            process.send_signal(signal.SIGKILL if program == "caddy" else signal.SIGTERM)
            process.wait(DEADLINE)


async def ready(front: Front) -> None:
    with trio.fail_after(DEADLINE):
        async with front.client() as client:
            while True:
                with suppress(httpx2.TransportError):
                    if (await client.get("/health")).status_code == 200:
                        return
                await trio.sleep(0.05)


def large_png(size: int) -> bytes:
    """Return a picture of one point that is so many bytes long."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"teSt", bytes(size)) + body + chunk(b"IEND", b"")


async def test_events_pass_at_once(front: Front) -> None:
    await ready(front)
    token = await front.signed_in()
    async with front.client(token) as client:
        channel = await channel_of(client)
        async with front.listening(token) as first, front.listening(token) as second:
            for number in range(3):
                made = await said(client, channel, f"message {number}")
                with trio.fail_after(AT_ONCE):
                    for events in (first, second):
                        assert (await events.until("NEW_MESSAGE"))["id"] == made["id"]


async def test_d19_the_clients_address_arrives_and_cannot_be_made_up(front: Front) -> None:
    await ready(front)
    token = await front.signed_in(**{"X-Forwarded-For": "203.0.113.9"})
    async with front.client(token) as client:
        sessions = (await client.get("/auth/sessions")).json()["sessions"]
    assert {one["ip"] for one in sessions} == {CLIENT}


async def test_no_token_in_an_address_gets_into_the_access_log(front: Front) -> None:
    await ready(front)
    async with front.client() as client:
        # On one connection, so the first is logged when the second is answered.
        for address in ("/", "/health"):
            assert (await client.get(address, params={"access_token": "a-secret"})).status_code == 200
    if front.log is not None:
        log = front.log.read_text()
        assert f'"GET {front.prefix}/" 200' in log
        assert "a-secret" not in log


async def test_the_largest_images_pass(front: Front) -> None:
    await ready(front)
    picture = base64.b64encode(large_png(10 * 1024 * 1024 - 1000)).decode()
    body = {"filename": "large.png", "image": picture, "thumbnail": picture}
    async with front.client(await front.signed_in()) as client:
        channel = await channel_of(client)
        answer = await client.post(f"{channel}/messages/image", json=body)
        assert answer.status_code == 200, answer.text
        read = await client.get(f"{channel}/messages/image/{answer.json()['filename']}")
    assert len(read.content) > 10 * 1024 * 1024 - 1000


async def test_and_last_a_server_that_is_told_to_end_is_not_missed(front: Front) -> None:
    await ready(front)
    token = await front.signed_in()
    statuses: list[int] = []
    async with front.client(token) as client, front.listening(token) as one, front.listening(token) as two:
        channel = await channel_of(client)

        async def ask() -> None:
            while True:
                statuses.append((await client.get(f"{channel}/messages")).status_code)

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(ask)
            await _until(statuses, 20)
            assert await trio.to_thread.run_sync(front.nodes[0].end) == 0
            await _until(statuses, len(statuses) + 20)
            nursery.cancel_scope.cancel()
        assert set(statuses) == {200}
        # The two streams were at two servers: that of the one which ended has ended properly.
        over = trio.Event()

        async def watch(events: Events) -> None:
            await ended(events)
            over.set()

        with trio.fail_after(DEADLINE):
            async with trio.open_nursery() as nursery:
                for events in (one, two):
                    nursery.start_soon(watch, events)
                await over.wait()
                nursery.cancel_scope.cancel()
        async with front.listening(token) as events:
            made = await _said_in_the_end(client, channel, "still here")
            assert (await events.until("NEW_MESSAGE"))["id"] == made["id"]


async def _said_in_the_end(client: httpx2.AsyncClient, channel: str, content: str) -> dict[str, Any]:
    """Post as a client should: a post that met a closing connection (502) is sent again, with its key."""
    with trio.fail_after(DEADLINE):
        while True:
            headers = {"Idempotency-Key": content}
            answer = await client.post(f"{channel}/messages", json={"content": content}, headers=headers)
            if answer.status_code != 502:
                assert answer.status_code == 200, answer.text
                return dict(answer.json()["message"])


async def _until(statuses: list[int], count: int) -> None:
    with trio.fail_after(DEADLINE):
        while len(statuses) < count:  # noqa: ASYNC110
            await trio.sleep(0.01)
