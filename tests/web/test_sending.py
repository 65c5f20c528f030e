"""Answers that wait for their clients (D-44): bounded, shared, whole, and made again when there is room."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any
from unittest.mock import patch

import pytest
import trio
from quart import Blueprint, Response

from teamchat.chat import messages
from teamchat.errors import Unauthorized
from teamchat.stream.transport import ABORT
from teamchat.web import Section, Stream, sending
from teamchat.web.budget import RETRY_SECONDS, WAIT_SECONDS
from teamchat.web.sending import PIECE, SLOWEST, UNCOUNTED_BYTES
from tests.storages import sqlite_only
from tests.web.client import Client
from tests.web.conftest import World
from tests.web.test_images import png, uploaded

jumping = sqlite_only("a database elsewhere answers while the clock jumps")
LONG = "\N{GRINNING FACE}" * 16_000


@dataclass
class Reader(Client):
    """A client that reads when it is told to, or so many bytes a second."""

    rate: float = 0.0
    begun: trio.Event = field(default_factory=trio.Event)
    go: trio.Event = field(default_factory=trio.Event)
    was_dropped: bool = False

    async def _exchange(self, scope: dict[str, Any], parts: list[bytes], **how: Any) -> Any:
        app, taken = self.app, 0

        async def reading(scope: Any, receive: Any, send: Any) -> None:
            async def send_slowly(message: Any) -> None:
                nonlocal taken
                self.begun.set()
                if size := len(message.get("body", b"")):
                    if self.rate:
                        await trio.sleep(size / self.rate)
                    else:
                        await self.go.wait()
                    taken += size
                await send(message)

            with trio.CancelScope() as connection:
                scope["extensions"][ABORT] = connection.cancel
                await app(scope, receive, send_slowly)
            self.was_dropped = connection.cancelled_caught
            if self.was_dropped:
                raise ConnectionError(taken)

        self.app = reading
        return await super()._exchange(scope, parts, **how)


@pytest.fixture
async def path(world: World) -> str:
    """The address of a page of half a MiB."""
    for _ in range(8):
        await world.message(world.eve, LONG)
    return f"/channels/{await world.channel()}/messages"


@contextmanager
def room(world: World, size: int) -> Iterator[None]:
    """Leave so much room for answers."""
    with patch.object(world.site.answer_space.answers, "most", size):
        yield


async def test_a_page_that_is_kept_is_in_memory_once_for_all_who_read_it(world: World, path: str) -> None:
    size = len((await world.bob.call("GET", path)).body)
    readers = [Reader(world.site, world.bob.token) for _ in range(5)]
    async with trio.open_nursery() as nursery:
        for reader in readers:
            nursery.start_soon(reader.ok, "GET", path)
            await reader.begun.wait()
        assert world.site.answer_space.answers.held == size + 5 * PIECE
        for reader in readers:
            reader.go.set()
    assert world.site.answer_space.answers.held == 0


@pytest.mark.parametrize("query", ["", "?limit=200"])
@jumping
async def test_a_page_that_finds_no_room_waits_without_being_in_memory_and_is_then_whole(
    world: World, path: str, query: str, autojump_clock: Any
) -> None:
    last = await world.message(world.eve, "the last")
    older = f"{path}?before={last['id']}"  # of which each answer is its own
    first, second = Reader(world.site, world.bob.token), Reader(world.site, world.eve.token)
    second.go.set()
    answers: list[Any] = []
    with room(world, 600_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.ok, "GET", older)
            await first.begun.wait()
            held = world.site.answer_space.answers.held

            async def ask() -> None:
                answers.append(await second.call("GET", path + query))

            nursery.start_soon(ask)
            await trio.sleep(WAIT_SECONDS / 2)
            assert not second.begun.is_set()
            assert world.site.answer_space.answers.held == held
            autojump_clock.autojump_threshold = inf  # A thread that commits looks as if nothing went on.
            await world.message(world.eve, "while it waited")
            autojump_clock.autojump_threshold = 0
            first.go.set()
    [answer] = answers
    contents = [message["content"] for message in answer.json()["messages"]]
    assert contents == [LONG] * 8 + ["the last", "while it waited"], "as it is when its turn has come"
    assert world.site.answer_space.answers.held == 0


@jumping
async def test_after_30_seconds_without_room_it_is_told_503_and_when_to_come_back(
    world: World, path: str, autojump_clock: Any
) -> None:
    first = Reader(world.site, world.bob.token, rate=SLOWEST)
    with room(world, 10_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.ok, "GET", path)
            await first.begun.wait()
            since = trio.current_time()
            answer = await world.eve.call("GET", f"{path}?limit=7")
            assert trio.current_time() - since == pytest.approx(WAIT_SECONDS)
            answer.problem(503)
            assert answer.headers["retry-after"] == str(RETRY_SECONDS)
            assert (await world.eve.call("GET", "/channels")).status == 200, "a small answer needs no room"
    assert world.site.answer_space.answers.held == 0


@jumping
async def test_what_is_known_to_be_large_is_not_made_again_in_vain(
    world: World, path: str, autojump_clock: Any
) -> None:
    first = Reader(world.site, world.bob.token, rate=SLOWEST)
    with (
        room(world, 10_000),
        patch.object(messages, "page_of_room", wraps=messages.page_of_room) as made,
    ):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.ok, "GET", path)
            await first.begun.wait()
            for _ in range(10):
                nursery.start_soon(world_call, world, f"{path}?limit=6&before={'f' * 32}")
                await trio.sleep(0.1)
            await trio.sleep(WAIT_SECONDS + 2)
    assert made.call_count == 2, "one for each address, and none for those who waited behind"


async def world_call(world: World, path: str) -> None:
    (await Client(world.site, world.eve.token).call("GET", path)).problem(503)


async def test_what_has_been_done_is_told_whatever_room_there_is(world: World, path: str) -> None:
    first = Reader(world.site, world.bob.token)
    with room(world, 10_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.ok, "GET", path)
            await first.begun.wait()
            assert (await world.message(world.eve, LONG))["content"] == LONG
            first.go.set()
    assert world.site.answer_space.answers.held == 0


async def test_a_stream_that_answers_a_post_is_sent_whatever_room_there_is(world: World) -> None:
    plain = Blueprint("plain", __name__)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"done"

    @plain.post("/do")
    async def view() -> Response:
        return Response(pieces())

    site = world.rebuilt(plain)
    with patch.object(site.answer_space.answers, "most", 10):
        other = site.answer_space._hold({"headers": [], "client": ("192.0.2.9", 1)})
        assert other.take(10)
        assert (await Client(site, world.eve.token).call("POST", "/do")).body == b"done"
    assert site.answer_space.answers.held == 10


async def test_what_is_refused_after_its_head_was_sent_ends_with_the_connection(world: World) -> None:
    section = Section("refused")

    async def pieces() -> AsyncIterator[bytes]:
        yield b"begun"
        raise Unauthorized

    @section.endpoint("GET", "/refused", answer=bytes)
    async def refused() -> Stream:
        """Read what ends early."""
        return Stream(pieces(), "text/plain", size=100)

    reader = Reader(world.rebuilt(section), world.bob.token)
    reader.go.set()
    with pytest.raises(ConnectionError):
        await reader.call("GET", "/refused")


async def test_who_asks_for_the_head_alone_needs_no_room(world: World, path: str) -> None:
    image = await uploaded(world, png(600_000))
    first = Reader(world.site, world.bob.token)
    with room(world, 10_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.ok, "GET", path)
            await first.begun.wait()
            for target in (path, image):
                answer = await world.eve.call("HEAD", target)
                assert (answer.status, answer.body) == (200, b"")
            first.go.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "length", [UNCOUNTED_BYTES, UNCOUNTED_BYTES + 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7]
)
@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_answer_of_any_length_arrives_whole(world: World, length: int, is_stream: bool) -> None:
    text = bytes(n % 251 for n in range(length))
    plain = Blueprint("plain", __name__)

    async def pieces() -> AsyncIterator[bytes]:
        yield text[: length // 2]
        yield b""
        yield text[length // 2 :]

    @plain.get("/text")
    async def view() -> Response:
        return Response(pieces() if is_stream else text)

    site = world.rebuilt(plain)
    answer = await Client(site, world.bob.token).call("GET", "/text")
    assert answer.body == text
    assert site.answer_space.answers.held == 0


@jumping
async def test_a_plugins_plain_view_waits_for_room_too(world: World, autojump_clock: Any) -> None:
    plain, asked = Blueprint("plain", __name__), []

    @plain.get("/text")
    async def text() -> str:
        asked.append(1)
        return "x" * 600_000

    site = world.rebuilt(plain)
    first = Reader(site, rate=SLOWEST)
    with patch.object(site.answer_space.answers, "most", 10_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.call, "GET", "/text")
            await first.begun.wait()
            (await Client(site, peer="192.0.2.8").call("GET", "/text")).problem(503)
            assert len(asked) == 2
    assert (await Client(site).call("GET", "/text")).body == b"x" * 600_000


@jumping
async def test_strangers_behind_one_proxy_do_not_wait_behind_the_one_who_has_taken_the_most(
    world: World, autojump_clock: Any
) -> None:
    pages = Blueprint("pages", __name__)

    @pages.get("/large")
    async def large() -> Response:
        return Response(bytes(300_000))

    site = world.rebuilt(pages, trusted_proxies=["192.0.2.0/24"])
    greedy, other = [("X-Forwarded-For", "198.51.100.1")], [("X-Forwarded-For", "203.0.113.1")]
    readers = [Reader(site), Reader(site)]
    with patch.object(site.answer_space.answers, "most", 1_000_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(readers[0].call, "GET", "/large", headers=greedy))
            await readers[0].begun.wait()
            nursery.start_soon(partial(readers[1].call, "GET", "/large", headers=greedy))
            while not site.answer_space.answers.lines:
                await trio.lowlevel.checkpoint()
            since = trio.current_time()
            answer = await Client(site).call("GET", "/large", headers=other)
            assert (answer.status, len(answer.body)) == (200, 300_000)
            assert trio.current_time() == since
            for reader in readers:
                reader.go.set()
    assert site.answer_space.answers.held == 0


@jumping
async def test_an_image_is_opened_when_there_is_room_for_it(world: World, autojump_clock: Any) -> None:
    image = await uploaded(world, png(600_000))
    first = Reader(world.site, world.bob.token, rate=SLOWEST)
    with room(world, 10_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(first.call, "GET", image)
            await first.begun.wait()
            with patch.object(world.images, "get") as opened:
                (await world.eve.call("GET", image)).problem(503)
            opened.assert_not_called()
    assert world.site.answer_space.answers.held == 0
    assert len((await world.eve.call("GET", image)).body) > 600_000


@pytest.mark.parametrize("what", ["page", "image"])
@jumping
async def test_who_reads_slower_than_16_kib_a_second_is_cut_off(
    world: World, path: str, what: str, autojump_clock: Any
) -> None:
    target = path if what == "page" else await uploaded(world, png(500_000))
    slow = Reader(world.site, world.bob.token, rate=SLOWEST * 0.3)
    with pytest.raises(ConnectionError):
        await slow.call("GET", target)
    assert world.site.answer_space.answers.held == 0
    steady = Reader(world.site, world.bob.token, rate=SLOWEST * 1.1)
    assert (await steady.call("GET", target)).status == 200


@jumping
async def test_a_client_that_takes_nothing_is_cut_off_after_30_seconds(
    world: World, path: str, autojump_clock: Any
) -> None:
    silent = Reader(world.site, world.bob.token)
    since = trio.current_time()
    with pytest.raises(ConnectionError, match=r"^0$"):
        await silent.call("GET", path)
    assert trio.current_time() - since == pytest.approx(sending.LATE_SECONDS)
