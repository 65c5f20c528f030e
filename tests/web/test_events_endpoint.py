"""``/events``, called as the application calls it: who gets in, what is answered, and how it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from teamchat import events
from teamchat.errors import TooManyRequests
from teamchat.settings import AuthSettings, ServerSettings, Settings
from teamchat.stream import Hub
from teamchat.stream.stream import MOST_WAITING
from teamchat.stream.transport import ABORT, EXTENSION
from teamchat.web.events import EventStream
from teamchat.web.headers import Headers
from tests.storages import open_storage
from tests.web.streaming import Exchange, FakeAccounts, Wire

PATIENCE = 5


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Any]:
    settings = Settings(
        auth=AuthSettings(app_url="https://chat.example.org/app"),
        server=ServerSettings(allowed_origins=["https://other.example.org"]),
    )
    async with open_storage(tmp_path) as storage, trio.open_nursery() as nursery:
        hub = Hub(storage, settings.events)
        await nursery.start(hub.run)
        yield SimpleNamespace(settings=settings, storage=storage, hub=hub, accounts=FakeAccounts())
        nursery.cancel_scope.cancel()


async def everybody(_: Any) -> None:
    """Refuse no request."""


@pytest.fixture
def endpoint(app: Any) -> EventStream:
    return EventStream(app, everybody, Headers(app.settings))


@pytest.fixture(params=["direct", "asgi"])
def streaming(request: pytest.FixtureRequest, endpoint: EventStream) -> Any:
    """Make exchanges that open a stream, with and without a way to the socket."""

    def make(query: str = "token=token-of-ada", **extra: Any) -> Exchange:
        wire = Wire() if request.param == "direct" else None
        exchange = Exchange(endpoint, query, **extra, **({} if wire is None else {EXTENSION: wire}))
        exchange.wire = wire
        return exchange

    return make


async def refused(endpoint: EventStream, exchange: Exchange, nursery: trio.Nursery) -> int:
    """Run an exchange that must fail with the one shape errors have; return its status."""
    nursery.start_soon(exchange.run)
    status, headers = await exchange.start()
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    body = json.loads(await exchange.body())
    assert list(body) == ["error"]
    assert isinstance(body["error"], str)
    await exchange.end()
    return status


BEARER = [("authorization", "Bearer token-of-ada")]


@pytest.mark.parametrize(
    ("query", "headers", "user"),
    [
        ("token=token-of-ada", [], "ada"),
        ("", BEARER, "ada"),
        ("", [("authorization", "bearer token-of-ada")], "ada"),
        ("token=token-of-bob", BEARER, "ada"),
        ("token=nonsense", [*BEARER, ("accept", "application/json")], "ada"),
    ],
)
async def test_a_token_in_the_header_or_the_query_opens_the_stream_and_the_header_wins(
    endpoint: EventStream, nursery: trio.Nursery, query: str, headers: list[tuple[str, str]], user: str
) -> None:
    exchange = Exchange(endpoint, query, headers=headers)
    nursery.start_soon(exchange.run)
    status, sent = await exchange.start()
    assert status == 200
    assert sent["content-type"] == "text/event-stream; charset=utf-8"
    assert sent["cache-control"] == "no-store"
    assert sent["x-accel-buffering"] == "no"
    assert "content-length" not in sent
    first = json.loads((await exchange.body()).removeprefix(b"data: "))
    assert first["type"] == "CONNECTED"
    assert first["payload"]["userId"] == user
    exchange.leave()
    await exchange.end()


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", []),
        ("token=", []),
        ("token=nonsense", []),
        ("token=%C3%A9", []),
        ("token=token-of-ada&token=token-of-bob", []),
        ("Token=token-of-ada", []),
        ("token=token-of-ada", [("authorization", "Bearer nonsense")]),
        ("token=token-of-ada", [("authorization", "Basic YTpi")]),
        ("token=token-of-ada", [("authorization", "")]),
        ("", [*BEARER, ("authorization", "Bearer token-of-bob")]),
        ("", [("authorization", "Bearer token-of-ada, Bearer token-of-bob")]),
        ("", [("authorization", "Bearer é")]),
        ("token=" + "x" * 20_000, []),
    ],
)
async def test_anything_odd_about_the_token_is_401(
    app: Any, endpoint: EventStream, nursery: trio.Nursery, query: str, headers: list[tuple[str, str]]
) -> None:
    exchange = Exchange(endpoint, query, headers=headers)
    assert await refused(endpoint, exchange, nursery) == 401
    assert len(app.hub) == 0


async def test_d07_head_answers_the_headers_and_takes_no_place(
    app: Any, endpoint: EventStream, nursery: trio.Nursery
) -> None:
    exchange = Exchange(endpoint, "token=token-of-ada", method="HEAD")
    nursery.start_soon(exchange.run)
    status, headers = await exchange.start()
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert await exchange.body() == b""
    await exchange.end()
    assert len(app.hub) == 0
    assert await refused(endpoint, Exchange(endpoint, method="HEAD"), nursery) == 401


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://chat.example.org", True),
        ("https://other.example.org", True),
        ("https://evil.example.org", False),
    ],
)
async def test_d06_allowed_origins_may_read_the_stream_and_its_errors(
    endpoint: EventStream, nursery: trio.Nursery, origin: str, allowed: bool
) -> None:
    for query in ("token=token-of-ada", "token=nonsense"):
        exchange = Exchange(endpoint, query, headers=[("origin", origin)])
        nursery.start_soon(exchange.run)
        _, headers = await exchange.start()
        assert headers.get("access-control-allow-origin") == (origin if allowed else None)
        assert headers["vary"] == "Origin"
        await exchange.body()
        exchange.leave()


async def connected(exchange: Exchange, nursery: trio.Nursery) -> Exchange:
    """Run the exchange as far as CONNECTED, and until its stream has started."""
    nursery.start_soon(exchange.run)
    await exchange.start()
    await exchange.body()
    await trio.testing.wait_all_tasks_blocked()
    return exchange


async def test_a_client_that_leaves_frees_its_place(app: Any, streaming: Any, nursery: trio.Nursery) -> None:
    exchange = await connected(streaming(), nursery)
    assert len(app.hub) == 1
    exchange.leave()
    await exchange.end()
    assert len(app.hub) == 0


async def test_a_client_that_leaves_before_connected_frees_its_place(
    app: Any, streaming: Any, nursery: trio.Nursery
) -> None:
    exchange = streaming()
    request = trio.CancelScope()
    nursery.start_soon(exchange.run_in, request)
    await exchange.start()
    assert len(app.hub) == 1
    request.cancel()
    await trio.testing.wait_all_tasks_blocked()
    assert len(app.hub) == 0


async def test_a_vanished_client_is_noticed_by_the_next_event(
    app: Any, streaming: Any, nursery: trio.Nursery
) -> None:
    exchange = await connected(streaming(), nursery)
    if exchange.wire is None:
        exchange._from_app.close()
    else:
        exchange.wire.is_gone = True
    await write(app, events.DeleteMessage("m", "c").to())
    await exchange.end()
    assert len(app.hub) == 0


async def test_an_idle_stream_is_one_task_and_holds_nothing_of_its_request(
    app: Any, streaming: Any, nursery: trio.Nursery
) -> None:
    async with trio.open_nursery() as own:
        exchange = await connected(streaming(), own)
        [task] = own.child_tasks
        assert task.child_nurseries == []
        frame, held = task.coro.cr_await, []
        while frame is not None and hasattr(frame, "cr_frame"):
            held += [name for name in frame.cr_frame.f_locals if name in {"scope", "headers", "query"}]
            frame = frame.cr_await
        assert held == []
        exchange.leave()


async def test_d09_a_session_that_ends_while_the_stream_opens_leaves_no_stream(
    app: Any, endpoint: EventStream, nursery: trio.Nursery
) -> None:
    opened = app.hub.open

    async def open_late(*arguments: Any, **wishes: Any) -> Any:
        app.accounts.ended.add("ada")  # after authentication, before the subscription
        return await opened(*arguments, **wishes)

    app.hub.open = open_late
    assert await refused(endpoint, Exchange(endpoint, "token=token-of-ada"), nursery) == 401
    assert len(app.hub) == 0


async def test_a_stream_that_the_hub_ends_gets_its_last_chunk(
    app: Any, streaming: Any, nursery: trio.Nursery
) -> None:
    exchange = await connected(streaming(), nursery)
    app.hub.close_all()
    last = await exchange.message()
    assert last["body"] == b""
    assert not last.get("more_body")
    await exchange.end()


async def test_a_stream_during_shutdown_is_503(
    app: Any, endpoint: EventStream, nursery: trio.Nursery
) -> None:
    app.hub.close_all()
    assert await refused(endpoint, Exchange(endpoint, "token=token-of-ada"), nursery) == 503


async def test_d01_an_unexpected_failure_reveals_nothing(
    app: Any, endpoint: EventStream, nursery: trio.Nursery, capfd: pytest.CaptureFixture[str]
) -> None:
    app.accounts.failing = True
    exchange = Exchange(endpoint, "token=token-of-ada")
    nursery.start_soon(exchange.run)
    assert (await exchange.start())[0] == 500
    assert b"secret" not in await exchange.body()


async def test_d18_a_limited_address_is_told_when_to_come_again(app: Any, nursery: trio.Nursery) -> None:
    async def admit(_: Any) -> None:
        raise TooManyRequests(7)

    exchange = Exchange(EventStream(app, admit, Headers(app.settings)), "token=token-of-ada")
    nursery.start_soon(exchange.run)
    status, headers = await exchange.start()
    assert (status, headers["retry-after"]) == (429, "7")
    assert app.accounts.asked == 0
    await exchange.body()


async def test_d37_a_client_too_slow_has_its_connection_dropped(
    app: Any, streaming: Any, nursery: trio.Nursery
) -> None:
    aborted = trio.Event()
    exchange = await connected(streaming(**{ABORT: aborted.set}), nursery)
    if exchange.wire is not None:
        exchange.wire.is_full, aborted = True, exchange.wire.aborted
    await overflow(app)
    with trio.fail_after(PATIENCE):
        await aborted.wait()
    assert len(app.hub) == 0
    await exchange.end()


async def test_d37_without_any_extension_a_slow_clients_request_ends(
    app: Any, endpoint: EventStream, nursery: trio.Nursery
) -> None:
    exchange = await connected(Exchange(endpoint, "token=token-of-ada"), nursery)
    await overflow(app)
    await exchange.end()


async def write(app: Any, event: events.Event) -> None:
    async with app.storage.write() as tx:
        await tx.append(event)


async def overflow(app: Any) -> None:
    """Write more events than may wait for a client."""
    for _ in range(4):
        await write(app, events.UpdateServerSettings("x" * (MOST_WAITING // 2)).to())


@pytest.mark.parametrize(
    ("query", "headers", "with_ids"),
    [
        ("", [], False),
        ("&lastEventId=", [], True),
        ("&lastEventId=0", [], True),
        ("", [("last-event-id", "0")], True),
        ("&lastEventId=999", [("last-event-id", "0")], True),
    ],
)
async def test_d34_a_client_opts_in_by_header_or_query_and_the_header_wins(
    app: Any,
    streaming: Any,
    nursery: trio.Nursery,
    query: str,
    headers: list[tuple[str, str]],
    with_ids: bool,
) -> None:
    exchange = streaming("token=token-of-ada" + query, headers=headers)
    nursery.start_soon(exchange.run)
    await exchange.start()
    assert (await exchange.body()).startswith(b"id: 0\ndata: " if with_ids else b"data: ")
    await write(app, events.DeleteMessage("m", "c").to())
    prefix = b"id: 1\n" if with_ids else b""
    assert await exchange.told() == (
        prefix + b'data: {"type":"DELETE_MESSAGE","payload":{"id":"m","channelId":"c"}}\n\n'
    )
    exchange.leave()
    await exchange.end()
