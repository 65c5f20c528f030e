"""Clients that are cut, and servers that are killed: with the last id everybody gets every event once (D-34).

Real server processes, one after the other on one data directory and one port.  The size is for every day;
``TEAMCHAT_RESUME="clients,posts,posts_a_second,cuts,kills"`` chooses another, such as ``200,3000,50,100,5``.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import h11
import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE, Server
from tests.harness import free_port, running

USERS = 4


class Size(NamedTuple):
    clients: int = 40
    posts: int = 300
    posts_a_second: int = 75
    cuts: int = 40
    kills: int = 2


SIZE = Size(
    *map(int, os.environ.get("TEAMCHAT_RESUME", "").split(",")) if "TEAMCHAT_RESUME" in os.environ else ()
)


@dataclass
class Installation:
    """The server, which comes and goes: `server` is the one that runs now, `is_up` whether there is one."""

    directory: Path
    port: int = field(default_factory=free_port)
    server: Server | None = None
    changed: trio.Event = field(default_factory=trio.Event)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Server]:
        sections = {"server": {"port": self.port}, "events": {"maxStreamsPerUser": 1000}}
        async with running(self.directory, **sections) as server:
            self._is_now(server)
            try:
                yield server
            finally:
                self._is_now(None)

    def _is_now(self, server: Server | None) -> None:
        self.server = server
        self.changed.set()
        self.changed = trio.Event()

    async def up(self) -> Server:
        """Wait until there is a server."""
        with trio.fail_after(DEADLINE):
            while self.server is None:
                await self.changed.wait()
        return self.server


class Reader:
    """A client that reads its stream, is cut now and then, and comes back with the last id it saw."""

    def __init__(self, installation: Installation, token: str) -> None:
        self._installation = installation
        self._token = token
        self._cut = trio.CancelScope()
        self.last_id = ""
        self.ids: list[int] = []
        self.events: list[dict[str, Any]] = []
        self.connections = 0
        self._told = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Read for ever; started once CONNECTED has come for the first time."""
        while True:
            await self._installation.up()
            try:
                with trio.CancelScope() as self._cut:
                    async with aclosing(self._frames()) as frames:
                        async for name, event in frames:
                            self._keep(name, event)
                            if self.connections == 1 and not self.events:
                                task_status.started()
            except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError):
                await trio.lowlevel.checkpoint()

    def _keep(self, name: str, event: dict[str, Any]) -> None:
        self.last_id = name
        if event["type"] == "CONNECTED":
            self.connections += 1
            return
        self.ids.append(int(name))
        self.events.append(event)
        self._told.set()
        self._told = trio.Event()

    async def until(self, message_id: str) -> None:
        """Wait for the event that carries this message."""
        while not self.events or self.events[-1]["payload"].get("id") != message_id:
            await self._told.wait()

    def cut(self) -> None:
        """Drop the connection in the middle of whatever it does."""
        self._cut.cancel()

    async def _frames(self) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        stream = await trio.open_tcp_stream("127.0.0.1", self._installation.port)
        try:
            target = f"/events?lastEventId={self.last_id}&token={self._token}"
            reader = h11.Connection(our_role=h11.CLIENT)
            await stream.send_all(
                reader.send(h11.Request(method="GET", target=target, headers=[("Host", "x")]))
            )
            text = ""
            while (data := await self._body(stream, reader)) is not None:
                *frames, text = (text + data).split("\n\n")
                for frame in frames:
                    if match := re.fullmatch(r"id: ([0-9]+)\ndata: (.*)", frame):
                        yield match[1], json.loads(match[2])
                    else:
                        assert re.match(r":|retry:", frame), frame
        finally:
            stream.socket.close()

    async def _body(self, stream: trio.SocketStream, reader: h11.Connection) -> str | None:
        """Return the next piece of the body, or None at its end or when the connection has broken."""
        while True:
            read = reader.next_event()
            if isinstance(read, h11.Data):
                return bytes(read.data).decode()
            if isinstance(read, h11.Response):
                assert read.status_code in {200, 503}, read.status_code
            elif read is not h11.NEED_DATA:
                return None
            else:
                try:
                    data = await stream.receive_some()
                except trio.BrokenResourceError:
                    return None
                if not data:
                    return None
                reader.receive_data(data)


async def post(installation: Installation, client: httpx2.AsyncClient, path: str, number: int) -> str:
    """Post a message, and again until it is acknowledged; return its id."""
    headers = {"Idempotency-Key": f"post-{number}"}
    while True:
        await installation.up()
        try:
            answer = await client.post(path, json={"content": f"number {number}"}, headers=headers)
        except httpx2.TransportError:
            await trio.lowlevel.checkpoint()
            continue
        if answer.status_code != 503:
            assert answer.status_code == 200, answer.text
            return str(answer.json()["message"]["id"])


async def keep_running(installation: Installation, *, task_status: trio.TaskStatus[None]) -> None:
    """Run one server after the other: a new one whenever the old one has been killed."""
    while True:
        async with installation.open() as server:
            task_status.started()
            task_status = trio.TASK_STATUS_IGNORED
            await server.process.wait()


async def all_messages(client: httpx2.AsyncClient, path: str) -> list[str]:
    """Read a list to its beginning, and return the ids in order."""
    ids: list[str] = []
    while True:
        before = {"before": ids[0]} if ids else {}
        page = (await client.get(path, params={"limit": 200} | before)).json()["messages"]
        if not page:
            return ids
        ids = [message["id"] for message in page] + ids


@pytest.mark.slow
async def test_r2_d34_over_cuts_and_kills_every_client_gets_every_event_once_and_in_order(
    tmp_path: Path,
) -> None:
    installation, chance = Installation(tmp_path), random.Random(34)
    with trio.fail_after(10 * DEADLINE + SIZE.posts / SIZE.posts_a_second):
        async with trio.open_nursery() as nursery:
            await nursery.start(keep_running, installation)
            await _storm(installation, chance, nursery)
            nursery.cancel_scope.cancel()


async def _storm(installation: Installation, chance: random.Random, nursery: trio.Nursery) -> None:
    server = await installation.up()
    users = [await server.sign_in(f"user{number}@example.org") for number in range(USERS)]
    channel = (await users[0].get("/channels")).json()["channels"][0]["id"]
    other = (await users[1].get("/auth/me")).json()["user"]["id"]
    opened = (await users[0].post("/conversations", json={"targetUserId": other})).json()
    paths = [f"/channels/{channel}/messages", f"/conversations/{opened['conversation']['id']}/messages"]

    tokens = [user.headers["Authorization"].removeprefix("Bearer ") for user in users]
    readers = [Reader(installation, tokens[number % USERS]) for number in range(SIZE.clients)]
    for reader in readers:
        await nursery.start(reader.run)

    cuts, kills = _moments(chance, SIZE.cuts), _moments(chance, SIZE.kills)
    posted: dict[str, list[str]] = {path: [] for path in paths}
    start = trio.current_time()
    for number in range(SIZE.posts):
        await trio.sleep_until(start + number / SIZE.posts_a_second)  # A pace, not a wait.
        path = paths[number % 5 == 4]
        async with trio.open_nursery() as now:
            if number in kills and installation.server is not None:
                now.start_soon(_after_some_turns, chance.randrange(30), installation.server.process.kill)
            for _ in range(cuts.count(number)):
                now.start_soon(_after_some_turns, chance.randrange(30), chance.choice(readers).cut)
            posted[path].append(await post(installation, users[0], path, number))
    last = await post(installation, users[0], paths[0], SIZE.posts)
    posted[paths[0]].append(last)
    with trio.fail_after(DEADLINE):
        for reader in readers:
            await reader.until(last)
    await installation.up()
    await _compare(readers, users, paths, posted)
    for user in users:
        await user.aclose()


def _moments(chance: random.Random, count: int) -> list[int]:
    """Choose at which posts something happens."""
    return (
        chance.choices(range(SIZE.posts), k=count) if count > 10 else chance.sample(range(SIZE.posts), count)
    )


async def _after_some_turns(turns: int, action: Any) -> None:
    for _ in range(turns):
        await trio.lowlevel.checkpoint()
    action()


async def _compare(
    readers: list[Reader], users: list[httpx2.AsyncClient], paths: list[str], posted: dict[str, list[str]]
) -> None:
    """What was acknowledged is what is stored, and what everybody saw."""
    public, private = [await all_messages(users[0], path) for path in paths]
    assert [public, private] == [posted[path] for path in paths]
    for number, reader in enumerate(readers):
        assert reader.ids == sorted(set(reader.ids)), "each once and in order"
        seen = {"NEW_MESSAGE": public, "NEW_DM_MESSAGE": private if number % USERS < 2 else []}
        for kind, ids in seen.items():
            assert [event["payload"]["id"] for event in reader.events if event["type"] == kind] == ids
        assert {event["type"] for event in reader.events} == {kind for kind, ids in seen.items() if ids}
    assert sum(reader.connections for reader in readers) > len(readers) * (1 + SIZE.kills // 2)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page's example uses curl")
async def test_the_example_of_the_page_about_the_stream_runs(tmp_path: Path) -> None:
    page = Path(__file__).parent.parent / "docs" / "explanation" / "the-stream.md"
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    async with running(tmp_path) as server, await server.sign_in() as ada:
        variables = {
            "BASE": server.base,
            "JSON": "Content-Type: application/json",
            "TOKEN": ada.headers["Authorization"].removeprefix("Bearer "),
            "CHANNEL": (await ada.get("/channels")).json()["channels"][0]["id"],
        }
        done = await trio.run_process(
            ["bash", "-uc", script],
            env=os.environ | variables,
            cwd=tmp_path,
            capture_stdout=True,
            check=False,
        )
    _, resumed = done.stdout.decode().split('"type":"CONNECTED"')
    assert re.search(r'\nid: [0-9]+\ndata: {"type":"NEW_MESSAGE".*while you were away', resumed)
