"""SIGKILL at each step of the queue: the device hears of the message, and of it once.

Where the push service has taken it and the database does not know, it is sent again in the first one's place.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from teamchat_web_push.loopback import Browser, LoopbackService

from teamchat.testing import ADMIN, DEADLINE
from tests.storages import damage
from tests.workers.several import PATIENCE, Several, several

BOB = "bob@example.org"
SECTIONS: Mapping[str, dict[str, Any]] = {
    "push": {"contact": "mailto:admin@example.org", "allowedHosts": ["127.0.0.1"]},
    "server": {"workers": 1, "rateLimit": {"attempts": 100_000}},
}
STEPS = {
    "before the rows are committed": ("queue", "_store", "after"),
    "when they are, and the position is not": ("queue.Queue", "hear", "if true"),
    "when it is judged and encrypted": ("sender.Sender", "_begin", "before"),
    "before it is sent": ("connection.Services", "post", "before"),
    "when it was answered": ("sender.Sender", "_after", "before"),
    "before that is committed": ("sender", "keep", "after"),
    "when that is committed": ("sender.Sender", "_keep", "after"),
}
SENT_TWICE = {"when it was answered", "before that is committed"}

DYING = """
import inspect, os, pathlib, signal
from importlib import import_module

MARK = pathlib.Path({mark!r})

def die():
    MARK.touch()
    os.kill(os.getpid(), signal.SIGKILL)

module, _, owner = {where!r}.partition(".")
owner = getattr(import_module("teamchat_web_push." + module), owner) if owner else import_module(
    "teamchat_web_push." + module)
undying = getattr(owner, {name!r})

async def dying_later(*given, **named):
    if {when!r} == "before":
        die()
    found = await undying(*given, **named)
    if {when!r} == "after" or found:
        die()
    return found

def dying_now(*given, **named):
    die()

if not MARK.exists():
    setattr(owner, {name!r}, dying_later if inspect.iscoroutinefunction(undying) else dying_now)
"""


async def conversation(admin: httpx2.AsyncClient, bob: httpx2.AsyncClient) -> str:
    me = (await bob.get("/me")).json()["user"]["id"]
    opened = await admin.post("/conversations", json={"targetUserId": me})
    return f"/conversations/{opened.json()['conversation']['id']}/messages"


async def is_killed(server: Several, browser: Browser) -> None:
    """Have Bob's browser take pushes, and write to him, until the server is dead."""
    async with await server.sign_in(ADMIN) as admin, await server.sign_in(BOB) as bob:
        answer = await bob.post("/push/subscriptions", json=browser.subscription)
        assert answer.status_code == 200, answer.text
        path = await conversation(admin, bob)
        with suppress(httpx2.TransportError):  # It may die before it has answered.
            await admin.post(path, json={"content": "hello"})
        with trio.fail_after(PATIENCE):
            await server.process.wait()


async def decided(bob: httpx2.AsyncClient, message: str) -> None:
    """Wait until it is written that a message was sent."""
    with trio.fail_after(PATIENCE):
        while True:
            why = await bob.get("/me/notifications/why", params={"messageId": message})
            if [one["outcome"] for one in why.json()["decisions"]] == ["sent"]:
                return
            await trio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
async def test_a_server_killed_at_a_step_tells_the_device_once_when_it_is_back(
    tmp_path: Path, step: str
) -> None:
    where, name, when = STEPS[step]
    mark = tmp_path / "killed"
    # Python imports a module of this name before the program's.
    (tmp_path / "sitecustomize.py").write_text(
        DYING.format(mark=str(mark), where=where, name=name, when=when)
    )
    service = LoopbackService()
    async with service.running():
        browser = service.browser()
        async with several(tmp_path, **SECTIONS) as server:
            await is_killed(server, browser)
        assert mark.exists()
        before = len(browser.received)
        assert before == (step in SENT_TWICE or step == "when that is committed")
        damage(tmp_path / "data", "update listeners set held_until = 0")  # Its lease has run out.
        async with (
            several(tmp_path, **SECTIONS) as server,
            await server.sign_in(ADMIN) as admin,
            await server.sign_in(BOB) as bob,
        ):
            [message] = (await bob.get(await conversation(admin, bob))).json()["messages"]
            await service.until(lambda: bool(browser.received), DEADLINE)
            await decided(bob, message["id"])
    assert [one["messageId"] for one in browser.payloads] == [message["id"]] * (1 + (step in SENT_TWICE))
    assert len({(one.headers["topic"], one.payload["tag"]) for one in browser.received}) == 1
    assert not service.wrong
