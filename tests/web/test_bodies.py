"""What is sent as a body: only what is right gets in, and what is wrong is told as a 400."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from teamchat.chat.drafts import Draft
from teamchat.errors import BadRequest, Problem, Unauthorized
from teamchat.testing import MALFORMED_BODIES as MALFORMED
from teamchat.web import reader
from teamchat.web.bodies import CHECK_SECONDS, UNCOUNTED_BYTES, Body
from teamchat.web.budget import Budget, Hold, Owner
from tests.web.client import Client
from tests.web.conftest import World

WRONG_FIELDS = [{}, {"unknown": 1}] + [
    dict.fromkeys(
        (
            "content", "name", "reaction", "email", "password", "userName", "targetUserId", "channelId",
            "refreshToken", "filename", "image", "role", "isPrivate", "reason",
        ),
        value,
    )
    for value in (None, 1, 1.5, True, [], {}, ["a"])
]  # fmt: skip
# Endpoints whose body may be missing, so an empty one is no mistake there.
OPTIONAL = {
    ("POST", "/auth/logout"),
    ("DELETE", "/auth/sessions"),
    ("DELETE", "/messages/{message}/reactions"),
}


async def writing_endpoints(world: World) -> list[tuple[str, str]]:
    """Every endpoint with a body, at an address where nothing but the body can be wrong."""
    channel = await world.channel()
    message = await world.message(world.admin)
    reply = await world.admin.ok("POST", f"/messages/{message['id']}/thread", {"content": "reply"})
    bob = (await world.bob.ok("GET", "/auth/me"))["user"]["id"]
    opened = await world.admin.ok("POST", "/conversations", {"targetUserId": bob})
    conversation = opened["conversation"]["id"]
    direct = await world.admin.ok("POST", f"/conversations/{conversation}/messages", {"content": "psst"})
    eve = (await world.eve.ok("GET", "/auth/me"))["user"]["id"]
    group = (await world.admin.ok("POST", "/groups", {"userIds": [bob, eve]}))["channel"]["id"]
    names = {
        "id": bob,
        "channelId": channel,
        "messageId": message["id"],
        "replyId": reply["reply"]["id"],
        "conversationId": conversation,
        "connectionId": await world.stream(world.admin),
        "userId": (await world.admin.ok("GET", "/auth/me"))["user"]["id"],
    }
    found = []
    for endpoint in world.site.endpoints:
        if endpoint.body is None or endpoint.security == "webhookToken":
            continue
        rule = endpoint.rule
        values = names | ({"messageId": direct["message"]["id"]} if "conversationId" in rule else {})
        values |= {"channelId": group} if rule.startswith("/groups/") else {}
        for name in endpoint.path_parameters:
            rule = rule.replace(f"<{name}>", values[name])
        found.append((endpoint.method, rule))
    assert len(found) >= 18
    return found


def is_optional(method: str, path: str) -> bool:
    return (method, path.split("/")[1]) == ("DELETE", "messages") or (method, path) in OPTIONAL


def test_d07a_a_body_of_very_many_strings_is_refused_as_one_of_very_many_brackets() -> None:
    """An upload may hold ten million, and to look at all of them takes seconds."""
    for value in (b'"",', b"[],"):
        with pytest.raises(BadRequest):
            reader.check_depth(b"[" + b"[]," * 33 + value * 100_001 + b"0]")


@pytest.mark.slow
@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
async def test_d02_a_malformed_body_is_400_on_every_endpoint(world: World, body: bytes) -> None:
    for method, path in await writing_endpoints(world):
        if is_optional(method, path) and not body.strip():
            continue
        answer = await world.admin.call(
            method, path, raw=body, headers=[("content-type", "application/json")]
        )
        assert answer.status == 400, (method, path, answer.body)
        answer.problem(400)


async def test_d02_a_malformed_body_to_a_webhook_is_400_and_posts_nothing(world: World) -> None:
    channel = await world.channel()
    made = (await world.admin.ok("POST", "/webhooks", {"name": "bot", "channelId": channel}))["webhook"]
    bot = Client(world.site, made["token"])
    for body in MALFORMED.values():
        json_body = [("content-type", "application/json")]
        answer = await bot.call("POST", f"/webhooks/{made['id']}/messages", raw=body, headers=json_body)
        answer.problem(400)
    for fields in WRONG_FIELDS:
        (await bot.call("POST", f"/webhooks/{made['id']}/messages", fields)).problem(400)
    assert (await world.admin.ok("GET", f"/channels/{channel}/messages"))["messages"] == []


async def test_d02_missing_and_wrongly_typed_fields_are_400_on_every_endpoint(world: World) -> None:
    for method, path in await writing_endpoints(world):
        for body in WRONG_FIELDS:
            harmless = path == "/auth/sessions" and not set(body) & {"refreshToken", "sessionId"}
            if not harmless:
                answer = await world.admin.call(method, path, body)
                assert answer.status == 400, (method, path, body, answer.body)
                answer.problem(400)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": 1}, "content"),
        ({"content": None}, "content"),
        ({"content": "a", "images": "b"}, "images"),
        ({"content": "a", "images": [1]}, "images[0]"),
    ],
)
async def test_d02_the_sentence_names_the_field(world: World, body: object, field: str) -> None:
    answer = await world.bob.call("POST", f"/channels/{await world.channel()}/messages", body)
    assert answer.problem(400).startswith(f"{field} ")


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (Annotated[list[int], Meta(min_length=2)], [1], "field must be an array of at least 2 elements."),
        (tuple[int, int], [1], "field must be an array of 2 elements."),
        (Annotated[list[int], Meta(min_length=2)], 1, "field must be an array."),
        (Annotated[str, Meta(min_length=1)], "", "field must be a string of at least 1 character."),
        (
            Annotated[str, Meta(max_length=3)] | None,
            "long",
            "field must be a string of at most 3 characters.",
        ),
        (
            list[Annotated[str, Meta(max_length=3)]],
            ["long"],
            "field[0] must be a string of at most 3 characters.",
        ),
        (Annotated[dict[str, int], Meta(min_length=1)], {}, "field must be an object of at least 1 field."),
        (Annotated[int, Meta(ge=-2)], -3, "field must be a whole number of at least -2."),
        (Annotated[float, Meta(le=1.5)], 2, "field must be a number of at most 1.5."),
        (Annotated[int, Meta(multiple_of=2)], 3, "field is not valid."),
        (Annotated[str, Meta(pattern="^secret$")], "open", "field is not valid."),
        (int | str, [], "field must be a whole number or a string."),
    ],
)
def test_d02_the_sentence_names_the_bound(kind: Any, value: object, sentence: str) -> None:
    decode = msgspec.json.Decoder(msgspec.defstruct("Asked", [("field", kind)])).decode
    with pytest.raises(BadRequest) as refused:
        reader.decode_body(json.dumps({"field": value}).encode(), decode)
    assert refused.value.sentence == sentence


async def test_d02_unknown_fields_are_ignored(world: World) -> None:
    body = {"content": "hello", "unknown": {"a": [1, None]}, "author": "eve", "createdAt": 1}
    answer = await world.bob.ok("POST", f"/channels/{await world.channel()}/messages", body)
    assert answer["message"]["author"]["userName"] == "bob"


async def test_of_a_key_given_twice_the_last_counts(world: World) -> None:
    raw = b'{"content": "first", "content": "second"}'
    answer = await world.bob.ok("POST", f"/channels/{await world.channel()}/messages", raw=raw)
    assert answer["message"]["content"] == "second"


@pytest.mark.parametrize("raw", [b"", b"{}", b"rubbish \xff"])
async def test_d02_an_endpoint_that_needs_no_body_accepts_any(world: World, raw: bytes) -> None:
    message = await world.message(world.bob)
    headers = [("content-type", "text/plain")]
    answer = await world.bob.call("DELETE", f"/messages/{message['id']}", raw=raw, headers=headers)
    assert answer.json() == {"success": True}
    assert answer.pulled == 0


@pytest.mark.parametrize("raw", [b"", b"{}"])
async def test_d02_a_body_that_may_be_missing_may_be_empty(world: World, raw: bytes) -> None:
    headers = [("content-type", "text/plain")]
    answer = await world.bob.call("DELETE", "/auth/sessions", raw=raw, headers=headers)
    assert answer.json() == {"success": True, "revoked": 1}


@pytest.mark.parametrize("kind", [None, "application/json", "Application/JSON; charset=utf-8"])
async def test_a_body_may_name_json_as_its_type_or_nothing(world: World, kind: str | None) -> None:
    headers = [] if kind is None else [("content-type", kind)]
    path = f"/channels/{await world.channel()}/messages"
    assert await world.bob.ok("POST", path, raw=b'{"content": "hi"}', headers=headers)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "junk"]
)
async def test_a_body_of_another_type_is_400(world: World, kind: str) -> None:
    path = f"/channels/{await world.channel()}/messages"
    answer = await world.bob.call("POST", path, raw=b'{"content": "hi"}', headers=[("content-type", kind)])
    assert "Content-Type" in answer.problem(400)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip"])
async def test_d07a_an_encoded_body_is_415(world: World, encoding: str) -> None:
    path = f"/channels/{await world.channel()}/messages"
    headers = [("content-encoding", encoding)]
    answer = await world.bob.call("POST", path, {"content": "hi"}, headers=headers)
    answer.problem(415)
    assert answer.pulled == 0


@pytest.mark.parametrize("announce", [True, False])
async def test_d07a_a_body_over_256_kib_is_413(world: World, announce: bool) -> None:
    path = f"/channels/{await world.channel()}/messages"
    pieces = [b" " * 65_536] * 100
    answer = await world.bob.call("POST", path, pieces=pieces, announce=announce)
    answer.problem(413)
    assert answer.pulled == (0 if announce else 5)
    exact = b'{"content": "hi"}'.ljust(256 * 1024)
    assert await world.bob.ok("POST", path, raw=exact)


async def test_d07a_32_levels_are_accepted_and_33_are_not(world: World) -> None:
    path = f"/channels/{await world.channel()}/messages"

    def nested(levels: int) -> bytes:
        return b'{"content": "hi", "x": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"

    assert await world.bob.ok("POST", path, raw=nested(32))
    (await world.bob.call("POST", path, raw=nested(33))).problem(400)


async def test_brackets_in_a_text_are_no_levels(world: World) -> None:
    content = "[{" * 4_000 + '\\"'
    assert (await world.message(world.bob, content))["content"] == content


async def test_nothing_is_read_before_authentication(world: World) -> None:
    for method, path in await writing_endpoints(world):
        if path == "/auth/refresh":
            continue
        answer = await world.nobody.call(method, path, pieces=[b"x" * 1000] * 50)
        answer.problem(401)
        assert answer.pulled == 0


async def test_a_body_that_does_not_come_is_408(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("teamchat.web.bodies.BODY_SECONDS", 0.05)
    path = f"/channels/{await world.channel()}/messages"
    answer = await world.bob.call("POST", path, pieces=[b'{"content"'], stalls=True, announce=False)
    answer.problem(408)


def body(receive: Any, room: int = 1_000_000, owner: str = "bob", budget: Budget | None = None) -> Body:
    """Return a body of which `receive` gives the pieces."""
    return Body(receive, 0, lambda: Hold(budget or Budget(room), Owner(owner, None)))


class Sender:
    """Sends a body of `size` bytes in pieces, as a client that sends so many bytes a second."""

    def __init__(self, size: int, rate: float, piece: int = 65_536) -> None:
        self.left = size
        self._rate = rate
        self._piece = piece

    async def receive(self) -> dict[str, Any]:
        piece = bytes(min(self._piece, self.left))
        await trio.sleep(len(piece) / self._rate)
        self.left -= len(piece)
        return {"type": "http.request", "body": piece, "more_body": self.left > 0}


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1_000, 65_536])
async def test_a_body_has_60_seconds_and_one_more_for_each_16_kib_that_came(
    autojump_clock: trio.testing.MockClock, piece: int
) -> None:
    steady = Sender(14_000_000, 16_384, piece)
    assert len(await body(steady.receive).read(32 * 1024**2)) == 14_000_000
    began = trio.current_time()
    trickling = Sender(14_000_000, 1_200, piece)
    with pytest.raises(Problem) as told:
        await body(trickling.receive).read(32 * 1024**2)
    assert told.value.status == 408
    assert trio.current_time() - began < 70, "and not when all of it should have been there"


@pytest.mark.slow
@pytest.mark.alone
async def test_a_body_that_comes_in_very_small_pieces_takes_no_more_memory_than_it_holds() -> None:
    left = 150_000

    async def receive() -> dict[str, Any]:
        nonlocal left
        left -= 1
        await trio.lowlevel.checkpoint()
        return {"type": "http.request", "body": b"%02d" % (left % 100), "more_body": left > 0}

    tracemalloc.start()
    try:
        assert len(await body(receive).read(1_000_000)) == 300_000
        assert tracemalloc.get_traced_memory()[1] < 4 * 300_000
    finally:
        tracemalloc.stop()


async def test_bodies_share_one_budget_but_their_first_16_kib_need_none(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = Budget(100_000)
    first, second, short = (body(Sender(size, 1e9).receive, budget=budget, owner=owner) for owner, size in (
        ("bob", UNCOUNTED_BYTES + 100_000), ("eve", UNCOUNTED_BYTES + 5), ("eve", UNCOUNTED_BYTES)
    ))  # fmt: skip
    await first.read()
    assert budget.held == 100_000
    await short.read()
    began = trio.current_time()
    late = body(Sender(300_000, 1e9).receive, budget=budget, owner="eve")
    with pytest.raises(Problem) as told:
        await late.read(400_000)
    assert (told.value.status, trio.current_time() - began) == (503, pytest.approx(30, abs=1))
    first.release()
    await second.read()
    for one in (first, second, short, late):
        one.release()
    assert budget.held == 0


async def test_of_bodies_that_fill_the_room_together_the_oldest_goes_on_and_then_the_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = Budget(8_000_000)
    arrived: list[int] = []

    async def arrive(number: int) -> None:
        one = body(Sender(2_000_000, 1_000_000).receive, budget=budget)
        try:
            await one.read(32 * 1024**2)
            arrived.append(number)
        finally:
            one.release()

    async with trio.open_nursery() as nursery:
        for number in range(6):
            nursery.start_soon(arrive, number)
    assert sorted(arrived) == list(range(6))
    assert budget.held == 0


async def test_a_body_ends_with_its_senders_session(autojump_clock: trio.testing.MockClock) -> None:
    ends_at = trio.current_time() + 12

    async def check() -> None:
        if trio.current_time() >= ends_at:
            raise Unauthorized

    trickling = body(Sender(14_000_000, 20_000, 1_000).receive)
    trickling.check = check
    with pytest.raises(Unauthorized):
        await trickling.read(32 * 1024**2)
    assert trio.current_time() - ends_at < CHECK_SECONDS + 1


async def test_a_client_that_goes_within_its_body_changes_nothing(world: World) -> None:
    path = f"/channels/{await world.channel()}/messages"
    await world.bob.call("POST", path, pieces=[], announce=False)
    assert (await world.bob.ok("GET", path))["messages"] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(JSON, st.integers(0, 40))
def test_the_depth_is_counted_as_it_is(value: object, more: int) -> None:
    for _ in range(more):
        value = [value, "[{", '"]']
    body = json.dumps(value).encode()
    if depth(value) > reader.DEPTH_LIMIT:
        with pytest.raises(BadRequest):
            reader.check_depth(body)
    else:
        reader.check_depth(body)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch, suppress(BadRequest):
        patch.setattr(reader, "DEPTH_LIMIT", 2)
        reader.decode_body(body, msgspec.json.Decoder(Draft).decode)


@given(st.binary(max_size=100), st.lists(st.sampled_from(["limit", "before"])))
def test_no_query_breaks_the_reader(query: bytes, names: list[str]) -> None:
    with suppress(BadRequest):
        reader.read_page(reader.read_parameters(query, names))


@pytest.mark.parametrize(("version", "told"), [("1.1", ["close"]), ("2", [])])
@pytest.mark.parametrize("path", ["/channels", "/nowhere", "/health"])
async def test_a_body_left_unread_closes_the_connection_but_for_http_2_which_has_no_such_header(
    world: World, version: str, told: list[str], path: str
) -> None:
    answer = await world.nobody.call("POST", path, raw=b"x" * 20_000, version=version)
    assert answer.pulled == 0
    assert answer.all("connection") == told
