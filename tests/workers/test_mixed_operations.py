"""All that people do with messages, from many clients at once, while workers and whole servers are killed.

What the server then answers must be what its events told (a model is built from the stream), and what was
acknowledged must be there once.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE
from tests.postgres import shared
from tests.storages import ONE_STORAGE, sqlite_only
from tests.test_resume import Installation, Reader, all_messages, post
from tests.workers.several import Several
from tests.workers.test_kills import SharedInstallation

CLIENTS = 12
OPERATIONS = 40
KILLS = 4
GROUP_KILLS = 2
WRITERS = 8
POSTS = 40
BACKENDS = [pytest.param("sqlite", marks=sqlite_only(ONE_STORAGE)), "postgres"]


def storage_of(backend: str, directory: Path) -> dict[str, Any]:
    storage = {"backend": backend, "path": str(directory / "data")}
    if backend == "postgres":
        storage["url"] = shared().url(shared().new_database())
    return storage


class Model:
    """The messages of a channel as events tell of them: what each says, and who reacted how."""

    def __init__(self) -> None:
        self.messages: dict[str, str] = {}
        self.reactions: dict[str, set[tuple[str, str]]] = {}

    def take(self, event: dict[str, Any]) -> None:
        kind, told = event["type"], event["payload"]
        if kind in {"NEW_MESSAGE", "UPDATE_MESSAGE"}:
            self.messages[told["id"]] = told["content"]
        elif kind == "DELETE_MESSAGE":
            self.messages.pop(told["id"])
            self.reactions.pop(told["id"], None)
        elif kind == "NEW_REACTION":
            self.reactions.setdefault(told["messageId"], set()).add((told["userId"], told["reaction"]))
        elif kind == "DELETE_REACTION":
            self.reactions[told["messageId"]].remove((told["userId"], told["reaction"]))

    def state(self) -> dict[str, tuple[str, frozenset[tuple[str, str]]]]:
        return {
            name: (content, frozenset(self.reactions.get(name, ())))
            for name, content in self.messages.items()
        }


class Talker:
    """A client that posts, edits, deletes and reacts by chance, and asks again when a worker has died."""

    def __init__(
        self, installation: Installation, client: httpx2.AsyncClient, path: str, number: int
    ) -> None:
        self._installation = installation
        self._client = client
        self._path = path
        self._number = number
        self._chance = random.Random(number)
        self.mine: list[str] = []
        self.unexpected: list[int] = []

    async def run(self) -> None:
        for step in range(OPERATIONS):
            if not self.mine or self._chance.random() < 0.4:
                number = self._number * 1_000_000 + step
                self.mine.append(await post(self._installation, self._client, self._path, number))
            else:
                await self._chance.choice([self._edit, self._delete, self._react, self._unreact])(step)

    async def _edit(self, step: int) -> None:
        await self._ask("PUT", f"/messages/{self._one()}", {"content": f"{self._number} edits in {step}"})

    async def _delete(self, _: int) -> None:
        gone = self._one()
        self.mine.remove(gone)
        await self._ask("DELETE", f"/messages/{gone}")

    async def _react(self, _: int) -> None:
        await self._ask(
            "POST", f"/messages/{self._one()}/reactions", {"reaction": self._chance.choice("abc")}
        )

    async def _unreact(self, _: int) -> None:
        await self._ask(
            "DELETE", f"/messages/{self._one()}/reactions", {"reaction": self._chance.choice("abc")}
        )

    def _one(self) -> str:
        return self._chance.choice(self.mine)

    async def _ask(self, method: str, path: str, body: Any = None) -> None:
        """Ask until there is an answer. After a lost one, what was to be deleted may be gone."""
        while True:
            try:
                answer = await self._client.request(method, path, json=body)
            except httpx2.TransportError:
                await trio.lowlevel.checkpoint()
                continue
            if answer.status_code not in {200, 404, 503}:
                self.unexpected.append(answer.status_code)
            if answer.status_code != 503:
                return


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("backend", BACKENDS)
async def test_what_the_server_holds_is_what_its_events_told_over_the_deaths_of_workers(
    tmp_path: Path, backend: str
) -> None:
    installation = SharedInstallation(tmp_path, storage=storage_of(backend, tmp_path))
    with trio.fail_after(5 * DEADLINE):
        async with (
            installation.open() as server,
            await server.sign_in() as ada,
            trio.open_nursery() as nursery,
        ):
            assert isinstance(server, Several)
            path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
            reader = Reader(installation, ada.headers["Authorization"].removeprefix("Bearer "))
            await nursery.start(reader.run)
            clients = [await server.sign_in(f"talker{number}@example.org") for number in range(CLIENTS)]
            talkers = [Talker(installation, client, path, number) for number, client in enumerate(clients)]
            async with trio.open_nursery() as talking:
                for talker in talkers:
                    talking.start_soon(talker.run)
                await kill_workers(server, talkers)
            for client in clients:
                await client.aclose()
            await reader.until(await post(installation, ada, path, 999_999_999))
            stored = await state(ada, path)
            nursery.cancel_scope.cancel()
    assert [talker.unexpected for talker in talkers] == [[]] * CLIENTS
    assert reader.ids == sorted(set(reader.ids))
    model = Model()
    for event in reader.events:
        model.take(event)
    assert model.state() == stored
    assert {name for talker in talkers for name in talker.mine} <= set(stored)
    assert len(server.logged()) == KILLS


async def kill_workers(server: Several, talkers: list[Talker]) -> None:
    """Kill one worker whenever a part of the work is done."""
    chance = random.Random(9)
    for kill in range(1, KILLS + 1):
        wanted = kill * CLIENTS * OPERATIONS * 0.4 * 0.4 / KILLS
        while sum(len(talker.mine) for talker in talkers) < wanted:
            await trio.lowlevel.checkpoint()
        worker = chance.choice(sorted(server.workers()))
        os.kill(worker, signal.SIGKILL)
        while worker in server.workers():
            await trio.lowlevel.checkpoint()


async def state(client: httpx2.AsyncClient, path: str) -> dict[str, tuple[str, frozenset[tuple[str, str]]]]:
    """Return what the server answers, as `Model.state` does."""
    found: dict[str, tuple[str, frozenset[tuple[str, str]]]] = {}
    before: dict[str, str] = {}
    while page := (await client.get(path, params={"limit": 200} | before)).json()["messages"]:
        for message in page:
            reactions = message["reactions"].items()
            who = frozenset((user, reaction) for reaction, users in reactions for user in users)
            found[message["id"]] = (message["content"], who)
        before = {"before": page[0]["id"]}
    return found


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("backend", BACKENDS)
async def test_what_was_acknowledged_is_stored_once_though_the_whole_group_is_killed(
    tmp_path: Path, backend: str
) -> None:
    installation = SharedInstallation(tmp_path, storage=storage_of(backend, tmp_path))
    acknowledged: list[str] = []
    enough = [POSTS * WRITERS * part // (GROUP_KILLS + 1) for part in range(1, GROUP_KILLS + 1)]
    with trio.fail_after(6 * DEADLINE):
        async with trio.open_nursery() as nursery:
            await nursery.start(live_and_die, installation, lambda count: until(acknowledged, count), enough)
            server = await installation.up()
            async with await server.sign_in() as ada:
                path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"

                async def write(writer: int) -> None:
                    for number in range(POSTS):
                        acknowledged.append(await post(installation, ada, path, writer * 1_000_000 + number))

                async with trio.open_nursery() as writers:
                    for writer in range(WRITERS):
                        writers.start_soon(write, writer)
                assert sorted(await all_messages(ada, path)) == sorted(acknowledged)
            nursery.cancel_scope.cancel()
    assert len(acknowledged) == POSTS * WRITERS


async def until(acknowledged: list[str], count: int) -> None:
    while len(acknowledged) < count:
        await trio.lowlevel.checkpoint()


async def live_and_die(
    installation: SharedInstallation,
    reached: Callable[[int], Awaitable[None]],
    enough: list[int],
    *,
    task_status: trio.TaskStatus[None],
) -> None:
    """Run a server, kill all its processes at once when so many posts are acknowledged, and run another."""
    for count in enough:
        async with installation.open() as server:
            assert isinstance(server, Several)
            task_status.started()
            task_status = trio.TASK_STATUS_IGNORED
            await reached(count)
            for process in (server.process.pid, *server.workers()):
                os.kill(process, signal.SIGKILL)
            installation.server = None
    async with installation.open():
        await trio.sleep_forever()
