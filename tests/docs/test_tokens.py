"""The pages on tokens and bots: what they say to type, and a bot that goes through restarts of its server."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import ADMIN, DEADLINE, Server, running
from tests.docs.pages import blocks
from tests.harness import free_port

HOW_TO = "how-to/give-programs-tokens.md"
TUTORIAL = "tutorials/write-a-bot.md"
RUN = "how-to/run-a-bot.md"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("curl") is None, reason="the pages use curl"),
]


async def typed(server: Server, email: str, script: str) -> str:
    """Type something in a shell, with the access token of a user, and return what it says."""
    async with await server.sign_in(email) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
    ran = await trio.run_process(
        ["bash", "-euc", script],
        env=os.environ | {"BASE": server.base, "ACCESS_TOKEN": token},
        capture_stdout=True,
    )
    return bytes(ran.stdout).decode()


async def test_a_token_is_made_in_a_shell_and_reads(tmp_path: Path) -> None:
    [make] = blocks(HOW_TO, "sh")
    async with running(tmp_path) as server:
        assert '"name":"General"' in await typed(server, "ada@example.org", make)


async def test_a_bot_is_made_in_a_shell_by_an_admin_or_by_everyone(tmp_path: Path) -> None:
    [make], [everyone] = blocks(RUN, "sh"), blocks(RUN, "toml")
    async with running(tmp_path, **tomllib.loads(everyone)) as server:
        for email, name in ((ADMIN, "deploys"), ("bob@example.org", "builds")):
            assert '"name":"General"' in await typed(server, email, make.replace("deploys", name))


@asynccontextmanager
async def bot(directory: Path, environment: Mapping[str, str]) -> AsyncIterator[trio.Process]:
    """Run the bot of the page, which is killed at the end."""
    _, start = blocks(TUTORIAL, "sh")
    assert start == "python3 bot.py\n"
    process = await trio.lowlevel.open_process(
        [sys.executable, "bot.py"], cwd=directory, env=os.environ | environment
    )
    try:
        yield process
        assert process.returncode is None, "the bot has ended"
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def answers(client: httpx2.AsyncClient, message: str) -> list[str]:
    thread = (await client.get(f"/messages/{message}/thread")).json()
    return [one["content"] for one in thread.get("replies", [])]


async def answered(client: httpx2.AsyncClient, messages: list[str]) -> None:
    with trio.fail_after(DEADLINE):
        for message in messages:
            while await answers(client, message) != ["3 words"]:  # noqa: ASYNC110
                await trio.sleep(0.1)


async def ask(client: httpx2.AsyncClient, count: int) -> list[str]:
    [channel] = (await client.get("/channels")).json()["channels"]
    target, body = f"/channels/{channel['id']}/messages", {"content": "!count one two three"}
    return [(await client.post(target, json=body)).json()["message"]["id"] for _ in range(count)]


async def test_the_bot_answers_once_each_through_two_restarts_of_the_server(tmp_path: Path) -> None:
    make, _ = blocks(TUTORIAL, "sh")
    library, program = blocks(TUTORIAL, "python")
    for name, text in (("chat.py", library), ("bot.py", program)):
        (tmp_path / name).write_text(text)
    assert len(program.splitlines()) <= 40
    sections: dict[str, Any] = {"server": {"host": "127.0.0.1", "port": free_port()}}
    asked: list[str] = []
    async with running(tmp_path / "server", **sections) as server:
        token = (await typed(server, ADMIN, f'{make}\necho "$BOT_TOKEN"')).strip()
        environment = {"BASE": server.base, "BOT_TOKEN": token}
        async with await server.sign_in() as ada, bot(tmp_path, environment):
            with trio.fail_after(DEADLINE):
                while not (tmp_path / "bot.state").exists():  # noqa: ASYNC110
                    await trio.sleep(0.05)
            asked += await ask(ada, 3)
            await answered(ada, asked)
            asked += await ask(ada, 4)  # Some are answered before the server ends, and some after.
            server.process.kill()
            await server.process.wait()
            async with running(tmp_path / "server", **sections) as again, await again.sign_in() as ada_again:
                asked += await ask(ada_again, 3)
                await answered(ada_again, asked)
                asked += await ask(ada_again, 3)
                await again.end()
    async with running(tmp_path / "server", **sections) as last, await last.sign_in() as ada:
        asked += await ask(ada, 2)  # while the bot is not there
        async with bot(tmp_path, environment):
            await answered(ada, asked)
            asked += await ask(ada, 1)
            await answered(ada, asked)
