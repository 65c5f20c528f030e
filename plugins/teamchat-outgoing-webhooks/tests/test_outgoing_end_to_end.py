"""A server that tells a target, over a real connection, also what happened while it was down."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h11
import pytest
import trio

from tests.harness import DEADLINE, running

SECRET = "the target's own secret"


@dataclass
class Target:
    """An HTTP server that answers 204 and hands on what it was sent."""

    url: str = ""
    sent: trio.MemorySendChannel[Any] = field(init=False)
    came: trio.MemoryReceiveChannel[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.sent, self.came = trio.open_memory_channel[Any](math.inf)

    async def next(self) -> Any:
        with trio.fail_after(DEADLINE):
            return await self.came.receive()

    async def serve(self, stream: trio.SocketStream) -> None:
        async with stream:
            talk, body = h11.Connection(h11.SERVER), b""
            while True:
                read = talk.next_event()
                if read is h11.NEED_DATA:
                    talk.receive_data(await stream.receive_some())
                elif isinstance(read, h11.Data):
                    body += bytes(read.data)
                elif isinstance(read, h11.EndOfMessage):
                    self.sent.send_nowait(json.loads(body))
                    await stream.send_all(talk.send(h11.Response(status_code=204, headers=[])) or b"")
                    return
                elif isinstance(read, h11.ConnectionClosed):
                    return


@asynccontextmanager
async def target() -> AsyncIterator[Target]:
    found = Target()
    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        found.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/hook"
        nursery.start_soon(trio.serve_listeners, found.serve, [listener])
        yield found
        nursery.cancel_scope.cancel()


def plugins(url: str) -> dict[str, Any]:
    told = {"name": "tracker", "url": url, "secret": SECRET, "events": ["NEW_MESSAGE"]}
    return {"outgoing-webhooks": {"targets": [told]}}


async def post(server: Any, text: str) -> None:
    async with await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        answer = await ada.post(f"/channels/{channel['id']}/messages", json={"content": text})
        assert answer.status_code == 200


async def test_a_target_hears_of_a_message_and_after_a_restart_of_the_next(tmp_path: Path) -> None:
    async with target() as tracker:
        for text in ("before", "after"):
            async with running(tmp_path, plugins=plugins(tracker.url)) as server:
                await post(server, text)
                told = await tracker.next()
                assert (told["type"], told["payload"]["content"]) == ("NEW_MESSAGE", text)
                await server.end()


async def test_a_target_can_be_tried(tmp_path: Path) -> None:
    async with target() as tracker:
        config = tmp_path / "teamchat.json"
        config.write_text(json.dumps({"plugins": plugins(tracker.url)}))
        command = [sys.executable, "-m", "teamchat", "try-webhook", "--config", str(config)]
        tried = await trio.run_process([*command, "tracker"], capture_stdout=True)
        assert tried.stdout == b"tracker took it.\n"
        assert (await tracker.next())["type"] == "TRY"
        unknown = await trio.run_process([*command, "nobody"], check=False, capture_stderr=True)
        assert unknown.returncode == 1
        assert b"There are: tracker." in unknown.stderr
    gone = await trio.run_process([*command, "tracker"], check=False, capture_stdout=True)
    assert (gone.returncode, gone.stdout) == (1, b"tracker did not take it: ConnectError.\n")


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"outgoing-webhooks": {"target": []}}, "plugins.outgoing-webhooks.target "),
        (
            {"outgoing-webhooks": {"targets": [{"name": "a", "url": "ftp://x", "secret": SECRET}]}},
            "url of 'a'",
        ),
        ({"outgoing-webhook": {}}, "plugins.outgoing-webhook is for no plugin"),
    ],
)
async def test_a_wrong_key_ends_the_start_with_its_name(
    tmp_path: Path, wrong: dict[str, Any], key: str
) -> None:
    config = tmp_path / "teamchat.json"
    config.write_text(
        json.dumps({"server": {"port": 0}, "storage": {"path": str(tmp_path)}, "plugins": wrong})
    )
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]
    ended = await trio.run_process(command, check=False, capture_stdout=True, capture_stderr=True)
    assert ended.returncode == 1
    assert key in ended.stderr.decode()
