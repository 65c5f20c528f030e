"""Who is connected: one client can't have all there is, and who is served is never dropped for who comes."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from teamchat.http import http1, limiter
from teamchat.http import hypercorn as hypercorn_server
from teamchat.http.limiter import ConnectionLimiter, most_connections
from teamchat.observability import metrics
from tests.http1.apps import GET, hello
from tests.http1.conftest import Client


class Limited:
    """A connection."""

    def __init__(self) -> None:
        self.was_dropped = False

    def abort(self) -> None:
        self.was_dropped = True


def come(
    place: ConnectionLimiter[Any], address: str, count: int = 1, *, and_ask: bool = False
) -> list[Limited]:
    """Let connections come from an address as long as there is room; return those that were let in."""
    connections = []
    for _ in range(count):
        if place.has_room((address, 1234)):
            connections.append(Limited())
            place.enter(connections[-1], (address, 1234))
            if and_ask:
                place.asks(connections[-1])
    return connections


def half_full(most: int = 1000) -> ConnectionLimiter[Any]:
    """Return a limiter of so many connections, of which half are taken by others."""
    place: ConnectionLimiter[Any] = ConnectionLimiter(most=most)
    assert len(come(place, "127.0.0.1", most // 2, and_ask=True)) == most // 2
    return place


@pytest.fixture(autouse=True)
def none_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.connections, "value", 0)


async def test_where_room_is_scarce_an_address_has_its_share_and_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = half_full()
    assert len(come(place, "203.0.113.9", 900, and_ask=True)) == place.share == 125
    assert len(come(place, "203.0.113.10", 10)) == 10, "others have theirs"
    [line] = caplog.records
    assert line.getMessage() == "an address has too many connections"
    fields = line.teamchat_fields  # type: ignore[attr-defined]
    assert fields["client"] == "203.0.113.9"
    assert "server.trustedProxies" in fields["hint"]


async def test_a_large_office_on_an_empty_server_is_served() -> None:
    """As is a proxy that nobody has named."""
    place: ConnectionLimiter[Any] = ConnectionLimiter(most=1000)
    assert len(come(place, "203.0.113.9", 900, and_ask=True)) == 500
    assert len(come(place, "203.0.113.10", 200, and_ask=True)) == place.share, "the other half is not for one"


async def test_at_its_share_an_address_makes_room_for_itself_by_what_idles_longest() -> None:
    place = half_full()
    [other] = come(place, "203.0.113.10")
    connections = come(place, "203.0.113.9", place.share)
    place.asks(connections[0])
    place.asks(connections[1])
    place.rests(connections[1])  # It was served, and is idle since then.
    assert len(come(place, "203.0.113.9", 3)) == 3
    assert [connection for connection in connections if connection.was_dropped] == connections[2:5]
    assert not other.was_dropped, "though it had been idle longer than any of them"


async def test_who_still_waits_for_a_request_keeps_its_place_in_the_row() -> None:
    place: ConnectionLimiter[Any] = ConnectionLimiter(most=2)
    first, second = come(place, "127.0.0.1", 2)
    place.rests(first)
    come(place, "127.0.0.1")
    assert (first.was_dropped, second.was_dropped) == (True, False)


async def test_what_an_address_gives_back_it_may_take_again() -> None:
    place = half_full()
    for connection in come(place, "203.0.113.9", 900, and_ask=True):
        place.leave(connection)
        place.leave(connection)  # as one that was let go does when its task ends
    assert len(come(place, "203.0.113.9", 900, and_ask=True)) == place.share
    assert metrics.connections.value == 500 + place.share


async def test_a_small_server_leaves_an_office_room() -> None:
    assert len(come(half_full(200), "203.0.113.9", 200, and_ask=True)) == limiter.LEAST_SHARE


async def test_an_ipv6_customer_is_one_address() -> None:
    place = half_full()
    for number in range(300):
        come(place, f"2001:db8::{number:x}", and_ask=True)
    assert len(place) == 500 + place.share
    assert len(come(place, "2001:db8:0:1::1")) == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "::ffff:10.1.2.3"])
async def test_who_speaks_for_many_has_no_share_of_its_own(address: str) -> None:
    assert len(come(ConnectionLimiter(["10.0.0.0/8"], most=500), address, 500, and_ask=True)) == 500


async def test_where_all_is_full_the_one_that_idled_longest_goes() -> None:
    place: ConnectionLimiter[Any] = ConnectionLimiter(most=3)
    first, second, third = (*come(place, "127.0.0.1", 2), *come(place, "203.0.113.9"))
    place.asks(first)
    place.rests(first)  # It was served, and is idle since then.
    assert come(place, "127.0.0.1", 1)
    assert (first.was_dropped, second.was_dropped, third.was_dropped) == (False, True, False)
    assert len(place) == 3


async def test_who_is_being_served_is_not_dropped_for_who_comes() -> None:
    place: ConnectionLimiter[Any] = ConnectionLimiter(most=3)
    connections = come(place, "127.0.0.1", 3, and_ask=True)
    assert not place.has_room(("127.0.0.1", 1))
    assert not any(connection.was_dropped for connection in connections)


async def test_what_was_let_go_never_counts_as_idle_again() -> None:
    place: ConnectionLimiter[Any] = ConnectionLimiter(most=1)
    [gone] = come(place, "127.0.0.1")
    [here] = come(place, "127.0.0.1")
    place.asks(here)
    place.rests(gone)  # what its last deed may be, before its task ends
    assert not place.has_room(("127.0.0.1", 1))


def test_there_are_always_descriptors_left_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, most in ((256, 192), (1024, 960), (16_000, 15_000), (10_000_000, 100_000), (10, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert most_connections() == most
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert most_connections() == 100_000


# The servers


@pytest.fixture(params=[http1.HttpServer, hypercorn_server.HttpServer])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@asynccontextmanager
async def serving(kind: Any, app: Any, most: int = 3) -> AsyncIterator[tuple[ConnectionLimiter[Any], int]]:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = kind(app, listeners)
    server._limiter.most = most
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: server.run(trio.Event(), grace=0, task_status=task_status))
        yield server._limiter, listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def connect(port: int) -> Client:
    return Client(await trio.open_tcp_stream("127.0.0.1", port), trio.Event())


async def close(*clients: Client) -> None:
    for client in clients:
        await client.stream.aclose()


async def test_a_full_server_lets_go_who_asks_for_nothing_and_serves_who_comes(kind: Any) -> None:
    async with serving(kind, hello) as (place, port):
        clients = [await connect(port) for _ in range(3)]
        for client in (clients[1], clients[0], clients[2]):
            assert (await client.ask(GET)).body == b"hello"
        await trio.testing.wait_all_tasks_blocked()
        late = await connect(port)
        assert (await late.ask(GET)).body == b"hello"
        assert await clients[1].rest() == b"", "it had been idle the longest"
        assert (await clients[0].ask(GET)).body == b"hello"
        assert len(place) == 3
        await close(*clients, late)


@pytest.mark.parametrize("begun", [b"", b"G", GET[:-2]])
async def test_a_part_of_a_head_keeps_no_place_on_a_full_server(kind: Any, begun: bytes) -> None:
    async with serving(kind, hello) as (place, port):
        clients = [await connect(port) for _ in range(3)]
        for client in clients:
            await client.send(begun)
        await trio.testing.wait_all_tasks_blocked(0.05)
        late = await connect(port)
        assert (await late.ask(GET)).body == b"hello"
        assert len(place) == 3
        assert await clients[0].rest() == b"", "it came first"
        await close(*clients, late)


async def test_a_full_server_drops_nobody_whom_it_serves(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    asked, go = [], trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)
        await go.wait()
        await hello(scope, receive, send)

    async with serving(kind, slow) as (_, port):
        clients = [await connect(port) for _ in range(3)]
        for client in clients:
            await client.send(GET)
        with trio.fail_after(20):
            while len(asked) < 3:
                await trio.lowlevel.checkpoint()
        for _ in range(2):
            late = await connect(port)
            if kind is http1.HttpServer:
                answer = await late.answer()
                assert answer.error(503)
                assert answer.header("retry-after")
            assert await late.rest() == b""
            await close(late)
        go.set()
        for client in clients:
            assert (await client.answer()).body == b"hello"
        await close(*clients)
    assert [record.getMessage() for record in caplog.records] == ["there are too many connections"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNABORTED])
async def test_a_connection_that_cannot_be_taken_is_survived_and_told_once(
    kind: Any, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limiter, "AGAIN_SECONDS", 0.001)
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    failing(listener, OSError(number, "no"), monkeypatch)
    server = kind(hello, [listener])
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: server.run(trio.Event(), grace=0, task_status=task_status))
        client = await connect(listener.socket.getsockname()[1])
        assert (await client.ask(GET)).body == b"hello"
        await close(client)
        nursery.cancel_scope.cancel()
    assert [record.getMessage() for record in caplog.records] == ["a connection could not be taken"]


def failing(listener: trio.SocketListener, error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first five attempts to take a connection fail."""
    accept, failures = listener.socket.accept, iter(range(5))

    async def tried() -> Any:
        if next(failures, None) is None:
            return await accept()
        await trio.lowlevel.checkpoint()
        raise error

    monkeypatch.setattr(listener.socket, "accept", tried)


@pytest.fixture
def few_descriptors() -> Iterator[int]:
    """Leave this process a hundred descriptors more than it has."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(name) for name in os.listdir("/proc/self/fd")) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limit[1]))
    yield most
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


async def test_a_server_without_descriptors_lives_on_and_serves_again(
    kind: Any, few_descriptors: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With the bound out of the way: what the system refuses must not end the server."""
    async with serving(kind, hello, most=1_000_000) as (_, port):
        clients: list[Client] = []
        with suppress(OSError):
            while len(clients) < few_descriptors:
                clients.append(await connect(port))
        assert len(clients) < few_descriptors
        # This end has taken the last one; the server's end of some still waits.
        await close(*clients)
        client = await connect(port)
        assert (await client.ask(GET)).body == b"hello"
        await close(client)
    assert [record.getMessage() for record in caplog.records] == ["a connection could not be taken"]
