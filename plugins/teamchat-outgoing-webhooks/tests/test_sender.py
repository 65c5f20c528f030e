"""What a target is sent, how it can tell that it is genuine, and what happens when it does not answer."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import msgspec
import pytest
import trio
from teamchat_outgoing_webhooks import Target, event_listeners
from teamchat_outgoing_webhooks import sender as module
from teamchat_outgoing_webhooks.sender import Sender
from teamchat_outgoing_webhooks.signing import headers

from teamchat import Capability, LoggedEvent, Payload, SettingsError
from teamchat.application import Application
from teamchat.events import InRoom
from teamchat.settings import PluginsSettings
from teamchat.testing import EventListenerContract
from tests.capabilities.serving import served

SECRET = "a secret of the two"


class Receiver(httpx2.AsyncBaseTransport):
    """Takes the requests in place of a network, and answers as told; the last answer is repeated."""

    def __init__(self, *answers: int | Exception) -> None:
        self.requests: list[httpx2.Request] = []
        self._answers = list(answers) or [204]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if not answer:
            await trio.sleep_forever()
        return httpx2.Response(answer, headers={"Location": "https://elsewhere.example/"})


class Opened(Payload, frozen=True):
    type = "acme.polls.opened"


class TestSender(EventListenerContract):
    @asynccontextmanager
    async def open_listener(self, app: Application) -> AsyncIterator[Sender]:
        async with aclosing(Sender(target(include_direct_messages=True), Receiver())) as sender:
            yield sender


def event(
    kind: str = "NEW_MESSAGE", seq: int = 7, audience: tuple[str, ...] | None = None, **payload: Any
) -> LoggedEvent:
    return LoggedEvent(seq, kind, json.dumps({"channelId": "c1"} | payload), audience)


def target(**keys: Any) -> Target:
    return Target(name="tracker", url="https://tracker.example/hook", secret=SECRET, **keys)


async def heard(receiver: Receiver, *events: LoggedEvent, **keys: Any) -> list[dict[str, Any]]:
    async with aclosing(Sender(target(**keys), receiver)) as sender:
        for each in events:
            await sender.hear(each)
    return [json.loads(request.content) for request in receiver.requests]


async def test_a_target_is_sent_the_type_and_the_payload() -> None:
    sent = await heard(Receiver(), event(content="Grüße"))
    assert sent == [{"type": "NEW_MESSAGE", "payload": {"channelId": "c1", "content": "Grüße"}}]


async def test_a_target_can_tell_that_a_request_is_genuine_as_standard_webhooks_say() -> None:
    receiver = Receiver()
    await heard(receiver, event())
    [request] = receiver.requests
    signed = b".".join(
        [
            request.headers["Webhook-Id"].encode(),
            request.headers["Webhook-Timestamp"].encode(),
            request.content,
        ]
    )
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    assert request.headers["Webhook-Signature"] == "v1," + base64.b64encode(expected).decode()
    assert request.headers["Webhook-Id"] == "7"


@pytest.mark.parametrize(
    ("keys", "kinds"),
    [
        ({}, ["NEW_MESSAGE", "NEW_CHANNEL", "DELETE_MESSAGE"]),
        ({"events": ["NEW_MESSAGE"]}, ["NEW_MESSAGE"]),
        ({"channels": ["c2"]}, ["DELETE_MESSAGE"]),
        (
            {"include_direct_messages": True},
            ["NEW_MESSAGE", "NEW_CHANNEL", "DELETE_MESSAGE", "NEW_DM_MESSAGE"],
        ),
    ],
)
async def test_a_target_gets_what_it_asked_for_and_no_private_word(
    keys: dict[str, Any], kinds: list[str]
) -> None:
    events = [
        event("NEW_MESSAGE"),
        event("NEW_CHANNEL"),
        event("DELETE_MESSAGE", channelId="c2"),
        event("NEW_DM_MESSAGE", audience=("u1", "u2")),
    ]
    assert [each["type"] for each in await heard(Receiver(), *events, **keys)] == kinds


def of_rooms() -> dict[str, LoggedEvent]:
    """Return an event of every kind of room, and of what has become private, public, or is gone."""
    room = InRoom("p1", 3, is_private=True)
    group, notes = (InRoom(kind, 1, is_private=True, kind=kind) for kind in ("group", "notes"))
    opened = InRoom("p1", 3, is_private=False)
    made = {
        "public": ("NEW_MESSAGE", InRoom("c1", 1, is_private=False), {}),
        "private": ("NEW_MESSAGE", room, {"channelId": "p1"}),
        "another": ("NEW_MESSAGE", InRoom("p2", 3, is_private=True), {"channelId": "p2"}),
        "group": ("NEW_MESSAGE", group, {"channelId": "group"}),
        "notes": ("NEW_MESSAGE", notes, {"channelId": "notes"}),
        "direct": ("NEW_DM_MESSAGE", ("u1", "u2"), {"channelId": "dm:1"}),
        "direct reaction": ("NEW_REACTION", ("u1", "u2"), {"messageId": "m"}),
        "direct pin": ("MESSAGE_PINNED", ("u1", "u2"), {"messageId": "m", "placeId": "dm:1"}),
        "direct plugin's": ("SOMETHING_OF_TWO", ("u1", "u2"), {"channelId": "dm:1"}),
        "direct activity": ("NEW_ACTIVITY", ("u1",), {"messageId": "m", "placeId": "dm:1"}),
        "private reaction": ("NEW_REACTION", room, {"messageId": "m"}),
        "made private": ("DELETE_CHANNEL", room.of_outsiders, {"id": "p1", "reason": "private"}),
        "made public": ("NEW_CHANNEL", opened.of_outsiders, {"id": "p1"}),
        "deleted": ("DELETE_CHANNEL", ("u1", "u2"), {"id": "p1"}),
        "removed": ("DELETE_CHANNEL", ("u1",), {"id": "p1", "reason": "removed"}),
        "for one": ("SOMETHING_OF_ONES_OWN", ("u1",), {"channelId": "p1"}),
    }
    return {
        name: LoggedEvent(number, kind, msgspec.json.encode({"name": name} | payload).decode(), audience)
        for number, (name, (kind, audience, payload)) in enumerate(made.items())
    }


ALWAYS = {"public", "made private", "made public"}
DIRECT = {"direct", "direct reaction", "direct pin", "direct plugin's"}


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({}, ALWAYS),
        ({"channels": ["p1", "group", "notes"]}, set()),
        ({"include_direct_messages": True}, ALWAYS | DIRECT),
        ({"include_groups": True}, ALWAYS | {"group"}),
        ({"include_notes": True}, ALWAYS | {"notes"}),
        # Whom it may know of as a member would, it is not told to be gone.
        ({"private_channels": ["p1", "group"]}, {"public", "private", "private reaction", "deleted"}),
        ({"private_channels": ["p1"], "channels": ["p1"]}, {"private"}),
    ],
)
async def test_x14_what_is_not_public_is_sent_only_where_that_was_said(
    keys: dict[str, Any], names: set[str]
) -> None:
    sent = await heard(Receiver(), *of_rooms().values(), **keys)
    assert {each["payload"]["name"] for each in sent} == names


@pytest.mark.parametrize(
    ("keys", "is_told"),
    [
        ({}, True),
        ({"events": ["NEW_MESSAGE", "RESYNC"]}, True),
        ({"channels": ["c2"]}, True),
        ({"events": ["NEW_MESSAGE"]}, False),
    ],
)
async def test_d34_a_target_is_told_to_read_anew_if_it_asked_for_that(
    keys: dict[str, Any], is_told: bool
) -> None:
    receiver = Receiver()
    async with aclosing(Sender(target(**keys), receiver)) as sender:
        await sender.missed(7, 9)
        await sender.hear(LoggedEvent(10, "RESYNC", "{}", None))
    told = [(each.headers["Webhook-Id"], json.loads(each.content)) for each in receiver.requests]
    resync = {"type": "RESYNC", "payload": {}}
    assert told == ([("9-missed", resync), ("10", resync)] if is_told else [])


@pytest.mark.parametrize("trouble", [500, 429, 302, httpx2.ConnectError("refused"), 0])
async def test_a_target_in_trouble_is_asked_again_with_the_same_id(
    trouble: int | Exception, autojump_clock: trio.testing.MockClock
) -> None:
    receiver = Receiver(trouble, trouble, 200)
    await heard(receiver, event())
    assert [request.headers["Webhook-Id"] for request in receiver.requests] == ["7", "7", "7"]
    assert {request.url.host for request in receiver.requests} == {"tracker.example"}


@pytest.mark.parametrize("refusal", [400, 500, 302, httpx2.ReadError("cut"), 0])
async def test_an_event_that_is_refused_is_given_up_after_the_tries_and_the_next_one_sent(
    refusal: int | Exception, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    tries = len(module.PAUSES) + 1
    receiver = Receiver(*[refusal] * tries, 200)
    began = trio.current_time()
    await heard(receiver, event(seq=1), event(seq=2))
    assert [request.headers["Webhook-Id"] for request in receiver.requests] == ["1"] * tries + ["2"]
    waited = 0 if refusal else tries * module.ANSWER_SECONDS
    assert trio.current_time() - began == pytest.approx(sum(module.PAUSES) + waited)
    why = {0: "no answer"}.get(refusal, str(refusal)) if isinstance(refusal, int) else "ReadError"
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        f"target tracker: event 1 was given up ({why})"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "away", [httpx2.ConnectError("refused"), httpx2.ConnectTimeout("silent"), 429, 503], ids=repr
)
async def test_events_wait_for_a_target_that_is_away_for_a_day(
    away: int | Exception, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 24 * 3600 // int(module.PAUSES[-1])
    receiver = Receiver(*[away] * tries, 500, 204)
    await heard(receiver, event(seq=1), event(seq=2))
    assert [request.headers["Webhook-Id"] for request in receiver.requests] == ["1"] * (tries + 2) + ["2"]
    assert not [record for record in caplog.records if record.levelno == logging.ERROR]


@pytest.mark.parametrize(
    ("lies", "most"),
    [({}, 0), ({"Content-Length": "10"}, 1), ({"Content-Length": "10", "Content-Encoding": "gzip"}, 1)],
    ids=["of no length", "that is said to be short", "that is said to be short and encoded"],
)
async def test_an_answer_without_end_is_not_read(
    lies: dict[str, str], most: int, autojump_clock: trio.testing.MockClock
) -> None:
    read = 0

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            nonlocal read
            while True:
                read += 1
                yield bytes(65536)
                await trio.sleep(0.01)

    class Talkative(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, headers=lies, stream=Endless())

    async with aclosing(Sender(target(), Talkative())) as sender:
        assert await sender.send("1", b"{}") is None
    assert read <= most, "a target may say that an answer is short, and send chunks without an end"


def test_a_secret_as_the_standards_libraries_take_it_is_read_as_they_do() -> None:
    # The example of the standard's own libraries.
    signed = headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        now=1614265330,
    )
    assert signed["Webhook-Signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_that_was_copied_by_halves_is_refused_by_its_key() -> None:
    half = Target(name="tracker", url="https://a.example/", secret="whsec_MfKQ9r8GKYqrT wj")
    with pytest.raises(SettingsError, match="the secret of 'tracker' begins with whsec_") as caught:
        half.check()
    assert "MfKQ9r8GKYqrT" not in str(caught.value)


async def test_an_event_that_this_server_does_not_have_is_told_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = ["NEW_MESAGE", "NEW_MESSAGE", "RESYNC", "CONNECTED", "acme.polls.opened", "acme.polls.ended"]
    told = {"name": "tracker", "url": "https://a.example/", "secret": SECRET, "events": events}
    options = {"outgoing-webhooks": {"targets": [told]}}
    async with served(tmp_path, Capability(name="acme.polls", events=[Opened])) as here:
        settings = msgspec.structs.replace(here.app.settings, plugins=PluginsSettings(options=options))
        [sender] = event_listeners(dataclasses.replace(here.app, settings=settings))
        async with aclosing(cast("Sender", sender)):
            found = [
                record.message for record in caplog.records if record.name == "teamchat_outgoing_webhooks"
            ]
    unknown = "target tracker: this server has no event of the type"
    assert found == [
        f"{unknown} NEW_MESAGE. Did you mean NEW_MESSAGE?",
        f"{unknown} CONNECTED.",
        f"{unknown} acme.polls.ended. Did you mean acme.polls.opened?",
    ]


@pytest.mark.parametrize("url", ["ftp://a.example/", "http://", "http://[::1", "http://a.example:99999/"])
def test_an_address_that_is_none_is_refused_by_its_key(url: str) -> None:
    with pytest.raises(SettingsError, match="the url of 'tracker' must begin with"):
        Target(name="tracker", url=url, secret=SECRET).check()


async def test_a_target_that_is_gone_is_not_asked_again() -> None:
    receiver = Receiver(410)
    await heard(receiver, event())
    assert len(receiver.requests) == 1


async def test_the_log_holds_neither_address_nor_secret_nor_message(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await heard(Receiver(500), event(content="between us"))
    assert caplog.records
    assert not [word for word in ("between us", SECRET, "tracker.example") if word in caplog.text]
    assert SECRET not in repr(target())
