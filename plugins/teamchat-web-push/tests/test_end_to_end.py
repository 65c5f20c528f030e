"""Web Push as a server offers it: over HTTP, by the verb, and by two processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from teamchat_web_push.loopback import LoopbackService

from teamchat.testing import DEADLINE
from tests.harness import running

PUSH = {"contact": "mailto:admin@example.org", "allowedHosts": ["127.0.0.1"]}


@pytest.mark.slow
async def test_a_device_is_subscribed_tried_told_and_forgotten(tmp_path: Path) -> None:
    service = LoopbackService()
    async with (
        service.running(),
        running(tmp_path, push=PUSH) as server,
        await server.sign_in() as admin,
        await server.sign_in("bob@example.org") as bob,
    ):
        assert (await bob.get("/capabilities")).json()["capabilities"]["web-push"] == {
            "version": 1,
            "perUser": 10,
            "sessions": 50,
        }
        service.key = (await bob.get("/push/key")).json()["key"]
        browser = service.browser()
        body = {**browser.subscription, "deviceName": "Phone"}
        made = (await bob.post("/push/subscriptions", json=body)).json()["subscription"]
        assert made["deviceName"] == "Phone"
        assert made["lastSentAt"] is None
        tried = (await bob.post(f"/push/subscriptions/{made['id']}/test")).json()
        assert tried == {"sent": {"status": 201, "reason": "The push service took it."}}
        assert browser.payloads[0]["kind"] == "test"
        assert (await admin.post(f"/push/subscriptions/{made['id']}/test")).status_code == 404

        command = [str(tmp_path / "teamchat.json"), "test", "bob@example.org"]
        done = await trio.run_process(
            [*_verb(), "--config", *command], capture_stdout=True, capture_stderr=True, check=False
        )
        assert (done.returncode, done.stdout.decode()) == (0, "Phone: The push service took it.\n")

        me = (await bob.get("/me")).json()["user"]["id"]
        place = (await admin.post("/conversations", json={"targetUserId": me})).json()["conversation"]["id"]
        sent = await admin.post(f"/conversations/{place}/messages", json={"content": "hello"})
        message = sent.json()["message"]["id"]
        await service.until(lambda: len(browser.received) == 3, DEADLINE)
        assert browser.payloads[2]["messageId"] == message
        why = f"/me/notifications/why?messageId={message}"
        with trio.fail_after(DEADLINE):
            while (found := (await bob.get(why)).json()["decisions"])[0]["outcome"] == "waiting":  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert [(one["subscriptionId"], one["outcome"]) for one in found] == [(made["id"], "sent")]
        [listed] = (await bob.get("/push/subscriptions")).json()["subscriptions"]
        assert listed["lastSentAt"] >= made["createdAt"]
        assert (await bob.delete(f"/push/subscriptions/{made['id']}")).status_code == 200
        assert (await bob.get("/push/subscriptions")).json() == {"subscriptions": [], "next": None}
        assert not service.wrong
        logged = server.logged()
        assert "hello" not in logged
        assert browser.endpoint not in logged


@pytest.mark.slow
async def test_tries_are_limited(tmp_path: Path) -> None:
    service = LoopbackService()
    async with (
        service.running(),
        running(tmp_path, push=PUSH) as server,
        await server.sign_in("bob@example.org") as bob,
    ):
        body = service.browser().subscription
        made = (await bob.post("/push/subscriptions", json=body)).json()["subscription"]
        answers = [(await bob.post(f"/push/subscriptions/{made['id']}/test")).status_code for _ in range(11)]
        assert answers == [200] * 10 + [429]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sections", "is_on"),
    [
        ({}, False),
        ({"auth": {"appUrl": "http://chat.example.org"}}, False),
        ({"auth": {"appUrl": "https://chat.local"}}, False),
        ({"auth": {"appUrl": "https://chat.example.org"}}, True),
        ({"push": {"contact": "mailto:admin@example.org"}}, True),
        ({"push": {"contact": "mailto:admin@example.org", "enabled": False}}, False),
    ],
)
async def test_j1_it_is_announced_where_push_services_would_know_whom_to_write_to(
    tmp_path: Path, sections: dict[str, Any], is_on: bool
) -> None:
    async with running(tmp_path, **sections) as server, await server.sign_in() as admin:
        announced = (await admin.get("/capabilities")).json()["capabilities"]
        assert ("web-push" in announced) == is_on
        assert ((await admin.get("/push/key")).status_code == 200) == is_on


async def test_a_contact_that_is_none_is_said_at_start(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="did not start") as refused:
        async with running(tmp_path, push={"contact": "admin@example.org"}):
            pass
    assert any("push.contact" in note for note in refused.value.__notes__) or "push.contact" in str(
        refused.value
    )


@pytest.mark.slow
async def test_with_two_processes_one_sends(tmp_path: Path) -> None:
    service = LoopbackService()
    workers = {"workers": 2, "rateLimit": {"attempts": 100_000}}
    async with (
        service.running(),
        running(tmp_path, push=PUSH, server=workers) as server,
        await server.sign_in() as admin,
        await server.sign_in("bob@example.org") as bob,
    ):
        browser = service.browser()
        await bob.post("/push/subscriptions", json=browser.subscription)
        me = (await bob.get("/me")).json()["user"]["id"]
        place = (await admin.post("/conversations", json={"targetUserId": me})).json()["conversation"]["id"]
        for number in range(10):
            await admin.post(f"/conversations/{place}/messages", json={"content": str(number)})
        last = (await admin.post(f"/conversations/{place}/messages", json={"content": "last"})).json()
        ids = lambda: [one["messageId"] for one in browser.payloads]  # noqa: E731
        await service.until(lambda: last["message"]["id"] in ids(), DEADLINE)
        assert len(ids()) == len(set(ids()))


def _verb() -> list[str]:
    import sys

    return [sys.executable, "-m", "teamchat", "push"]


def test_words_are_the_same_in_every_language() -> None:
    from teamchat_web_push.payload import LANGUAGES, words

    english = words("en")
    for language in LANGUAGES:
        assert words(language).keys() == english.keys()
    assert words("xx") == english
    assert json.dumps(dict(english))
