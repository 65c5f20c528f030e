"""A process that dies at any step: nobody who should hear does not, and no device shows one message twice."""

from __future__ import annotations

import signal
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from teamchat_web_push.loopback import Browser, LoopbackService
from teamchat_web_push.sender import Sender

from teamchat.testing import DEADLINE
from tests.harness import running
from tests.push_world import World


class Died(Exception):
    """The process is gone."""


def shown(browser: Browser) -> list[str]:
    """Return what a browser shows: of pushes with the tag and the message of one that it shows, that one."""
    return list(dict.fromkeys(one["messageId"] for one in browser.payloads))


def more_than(service: LoopbackService, count: int) -> bool:
    return service.requests > count


def have_all(browsers: list[Browser], posted: list[str]) -> bool:
    return set(posted) <= {message for one in browsers for message in shown(one)}


async def dies(world: World, step: Any) -> None:
    with pytest.raises((Died, ExceptionGroup)):
        await step()
    world.restart()


async def test_dying_before_the_rows_are_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bob, _ = await world.subscribe(world.bob)
    message, before = await world.direct(), world.heard

    async def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr("teamchat_web_push.queue._store", die)
        await dies(world, world.hear)
    world.heard = before
    await world.go()
    assert [one["messageId"] for one in bob.payloads] == [message]


async def test_dying_once_the_rows_are_written_and_the_position_is_not(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message, before = await world.direct(), world.heard
    await world.hear()
    world.heard = before
    world.restart()
    await world.go()
    assert [one["messageId"] for one in bob.payloads] == [message]


async def test_dying_when_it_was_judged_and_encrypted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.direct()
    await world.hear()

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Sender, "_begin", die)
        await dies(world, world.send)
    await world.go()
    assert [one["messageId"] for one in bob.payloads] == [message]


async def test_dying_between_the_services_answer_and_the_note_sends_again_what_shows_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one step at which a push service may get a push twice, in the same place of its queue."""
    bob, _ = await world.subscribe(world.bob)
    message = await world.direct()
    await world.hear()

    def die(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Sender, "_after", die)
        await dies(world, world.send)
    await world.go()
    assert [one["messageId"] for one in bob.payloads] == [message, message]
    assert len({one.headers["topic"] for one in bob.received}) == 1
    assert len({one["tag"] for one in bob.payloads}) == 1
    assert shown(bob) == [message]


async def test_dying_once_it_was_noted(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.direct()
    await world.go()
    world.restart()
    await world.go()
    assert [one["messageId"] for one in bob.payloads] == [message]


async def test_what_was_answered_when_the_server_is_stopped_is_noted(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.direct()
    await world.hear()
    async with trio.open_nursery() as nursery:
        world.service.on_push = lambda _: nursery.cancel_scope.cancel()
        nursery.start_soon(world.sender.run)
    world.service.on_push = lambda _: None
    world.restart()
    await world.go()
    assert shown(bob) == [message]


@pytest.mark.slow  # A lease of who was killed is another's after 15 seconds.
async def test_kill_9_again_and_again_loses_nothing_and_repeats_no_more_than_was_under_way(
    tmp_path: Path,
) -> None:
    service, kills = LoopbackService(), 3
    push = {"contact": "mailto:admin@example.org", "allowedHosts": ["127.0.0.1"]}
    sections: dict[str, Any] = {"push": push, "server": {"rateLimit": {"attempts": 100_000}}}
    async with service.running():
        browsers: list[Browser] = []
        posted: list[str] = []
        for number in range(kills + 1):
            async with running(tmp_path, **sections) as server, await server.sign_in() as admin:
                before = service.requests
                # New people each time: two messages of one place would be one push.
                for each in range(6):
                    person = await server.sign_in(f"user{number}.{each}@example.org")
                    browser = service.browser()
                    browsers.append(browser)
                    answer = await person.post("/push/subscriptions", json=browser.subscription)
                    assert answer.status_code == 200, answer.text
                    me = (await person.get("/me")).json()["user"]["id"]
                    opened = await admin.post("/conversations", json={"targetUserId": me})
                    place = opened.json()["conversation"]["id"]
                    answer = await admin.post(f"/conversations/{place}/messages", json={"content": "hello"})
                    posted.append(answer.json()["message"]["id"])
                    await person.aclose()
                if number < kills:
                    await service.until(partial(more_than, service, before + number), DEADLINE)
                    server.process.send_signal(signal.SIGKILL)
                    await server.process.wait()
                else:
                    await service.until(partial(have_all, browsers, posted), DEADLINE)
        counts = Counter(one["messageId"] for browser in browsers for one in browser.payloads)
        assert set(counts) == set(posted), "somebody was not told"
        assert not service.wrong, service.wrong
        repeated = sum(count - 1 for count in counts.values())
        assert repeated <= kills * 16
        for browser in browsers:
            topics = {(one.payload["messageId"], one.headers["topic"]) for one in browser.received}
            assert len(topics) == len(shown(browser)), "what comes again has another topic"
