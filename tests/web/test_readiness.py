"""Whether a server should be sent requests, asked by anybody and as often as they like."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from teamchat.errors import StorageError, Unavailable
from teamchat.testing import DEADLINE
from teamchat.web.readiness import AGAIN_SECONDS, DEADLINE_SECONDS, Readiness
from tests.harness import running
from tests.web.conftest import World


class Transaction:
    async def fetch(self, _sql: str) -> list[tuple[int]]:
        await trio.lowlevel.checkpoint()
        return [(1,)]


class Storage:
    """Answers, fails, or is silent; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.error: Exception | None = None
        self.answers = trio.Event()
        self.answers.set()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        self.asked += 1
        await self.answers.wait()
        if self.error is not None:
            raise self.error
        yield Transaction()


class Application:
    def __init__(self) -> None:
        self.storage = Storage()
        self.hub = type("Hub", (), {"is_open": True})()


@pytest.fixture
def app() -> Application:
    return Application()


@pytest.fixture
def readiness(app: Application) -> Readiness:
    return Readiness(app)  # type: ignore[arg-type]


async def test_a_storage_that_answers_makes_ready(readiness: Readiness, app: Application) -> None:
    await readiness.check()
    assert app.storage.asked == 1


@pytest.mark.parametrize("error", [StorageError("away"), OSError("away"), Unavailable("busy")])
async def test_a_storage_that_fails_does_not_and_its_error_is_not_told(
    readiness: Readiness, app: Application, error: Exception
) -> None:
    app.storage.error = error
    with pytest.raises(Unavailable, match=r"^The storage does not answer\.$"):
        await readiness.check()


async def test_a_silent_storage_is_given_up(
    readiness: Readiness, app: Application, autojump_clock: MockClock
) -> None:
    app.storage.answers = trio.Event()
    began = trio.current_time()
    with pytest.raises(Unavailable):
        await readiness.check()
    assert trio.current_time() - began == pytest.approx(DEADLINE_SECONDS)


async def test_a_thousand_who_ask_at_once_ask_the_storage_once(
    readiness: Readiness, app: Application
) -> None:
    app.storage.answers = trio.Event()
    async with trio.open_nursery() as nursery:
        for _ in range(1000):
            nursery.start_soon(readiness.check)
        await wait_all_tasks_blocked()
        app.storage.answers.set()
    assert app.storage.asked == 1


async def test_it_is_asked_again_after_a_while_whether_it_answered_or_not(
    readiness: Readiness, app: Application, autojump_clock: MockClock
) -> None:
    await readiness.check()
    app.storage.error = StorageError("away")
    await readiness.check()  # what was found is believed for a while
    await trio.sleep(AGAIN_SECONDS)
    with pytest.raises(Unavailable):
        await readiness.check()
    app.storage.error = None
    with pytest.raises(Unavailable):
        await readiness.check()
    await trio.sleep(AGAIN_SECONDS)
    await readiness.check()
    assert app.storage.asked == 3


async def test_who_goes_away_while_the_storage_is_asked_leaves_the_others_their_answer(
    readiness: Readiness, app: Application
) -> None:
    app.storage.answers = trio.Event()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as gone:
            nursery.start_soon(_wake, gone, app)
            await readiness.check()
        assert gone.cancelled_caught
        await readiness.check()
    assert app.storage.asked == 2


async def _wake(gone: trio.CancelScope, app: Application) -> None:
    await wait_all_tasks_blocked()
    gone.cancel()
    app.storage.answers.set()


async def test_a_server_that_ends_is_not_ready_and_asks_nobody(
    readiness: Readiness, app: Application
) -> None:
    app.hub.is_open = False
    with pytest.raises(Unavailable, match="shutting down"):
        await readiness.check()
    assert app.storage.asked == 0


async def test_it_is_open_to_all_and_health_goes_on_without_it(world: World) -> None:
    refusal = await world.nobody.call("GET", "/ready")  # the hub of this application does not run
    assert "shutting down" in refusal.problem(503)
    assert (await world.nobody.call("GET", "/health")).status == 200
    async with trio.open_nursery() as nursery:
        await nursery.start(world.app.hub.run)
        answer = await world.nobody.call("GET", "/ready")
        assert (answer.status, answer.body) == (200, b"OK")
        assert answer.headers["content-type"].startswith("text/plain")
        assert (await world.nobody.call("HEAD", "/ready")).status == 200
        nursery.cancel_scope.cancel()


async def test_a_server_that_is_told_to_end_is_ready_for_nobody_any_more(tmp_path: Path) -> None:
    """It takes no connection; a request on one that is still open, behind another, is not answered OK."""
    async with running(tmp_path) as server, server.client() as client:
        assert (await client.get("/ready")).text == "OK"
        base: Any = client.base_url
        async with await trio.open_tcp_stream(base.host, base.port) as stream:
            body = b'{"email": "admin@localhost"}'
            head = f"Host: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            await stream.send_all(b"POST /auth/dev-login HTTP/1.1\r\n" + head.encode() + body[:5])
            server.process.terminate()
            with trio.fail_after(DEADLINE):
                await _until_refused(base.host, base.port)
                await stream.send_all(body[5:] + b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n")
                received = b""
                while data := await stream.receive_some():
                    received += data
        assert received.startswith(b"HTTP/1.1 200")
        assert b"HTTP/1.1 200 OK\r\n" not in received[20:]
        with trio.fail_after(DEADLINE):
            assert await server.process.wait() == 0


async def _until_refused(host: str, port: int) -> None:
    """Wait until the server takes no connection any more."""
    while True:
        try:
            stream = await trio.open_tcp_stream(host, port)
        except OSError:
            return
        await stream.aclose()
        await trio.sleep(0.01)
