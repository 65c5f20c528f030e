"""One PostgreSQL for all tests, a database of its own for each, and what makes it misbehave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest
import trio
from teamchat_storage_postgres import PostgresOptions, PostgresStorage, connection, open_postgres, sockets

from tests.postgres import Postgres, shared


@pytest.fixture(scope="session")
def server() -> Postgres:
    return shared()


@pytest.fixture
def database(server: Postgres) -> str:
    return server.new_database()


@pytest.fixture
def options(server: Postgres, database: str) -> PostgresOptions:
    return PostgresOptions(url=server.url(database))


@pytest.fixture
async def storage(options: PostgresOptions) -> AsyncIterator[PostgresStorage]:
    async with open_postgres(options) as opened:
        yield opened


class Proxy:
    """A line to the server that can go dead without a word, as a cable that is pulled."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._flows = trio.Event()
        self._flows.set()
        self.port = 0

    def freeze(self) -> None:
        self._flows = trio.Event()

    def thaw(self) -> None:
        self._flows.set()

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self.port = listeners[0].socket.getsockname()[1]
        task_status.started()
        await trio.serve_listeners(self._serve, listeners)

    async def _serve(self, near: trio.SocketStream) -> None:
        async with (
            near,
            await trio.open_tcp_stream("127.0.0.1", self._port) as far,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(self._pass_on, near, far, nursery.cancel_scope)
            await self._pass_on(far, near, nursery.cancel_scope)

    async def _pass_on(
        self, source: trio.SocketStream, sink: trio.SocketStream, both: trio.CancelScope
    ) -> None:
        try:
            while data := await source.receive_some():
                await self._flows.wait()
                await sink.send_all(data)
        except trio.BrokenResourceError:
            pass
        both.cancel()


@pytest.fixture
async def proxy(server: Postgres) -> AsyncIterator[Proxy]:
    made = Proxy(server.port)
    async with trio.open_nursery() as nursery:
        await nursery.start(made.run)
        yield made
        nursery.cancel_scope.cancel()


@pytest.fixture
def impatient(
    server: Postgres, database: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> PostgresOptions:
    """Options that go through the proxy and wait for little."""
    monkeypatch.setattr(connection, "CANCEL_SECONDS", 0.3)
    return PostgresOptions(
        url=server.url(database, proxy.port),
        pool_size=2,
        connect_seconds=0.3,
        acquire_seconds=0.3,
        statement_seconds=0.3,
    )


class Cut:
    """Cancels a scope at the n-th time that a socket is waited for in it: before the wait, or after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = partial(monkeypatch.setattr, sockets, "_ready")
        self._ready = sockets._ready

    async def count(self, work: Callable[[], AbstractAsyncContextManager[None]]) -> int:
        """Return how often `work` waits."""
        scope = await self.at(-1, work)
        assert not scope.cancelled_caught
        return self.waits

    async def at(
        self, number: int, work: Callable[[], AbstractAsyncContextManager[None]]
    ) -> trio.CancelScope:
        """Run `work`, cancelled at its wait `number` (before it if even, after it if odd)."""
        self.waits, task = 0, trio.lowlevel.current_task()
        scope = trio.CancelScope()

        async def ready(socket: int, wanted: int) -> int:
            mine = trio.lowlevel.current_task() is task
            if mine and 2 * self.waits == number:
                scope.cancel()
            result = await self._ready(socket, wanted)
            if mine and 2 * self.waits + 1 == number:
                scope.cancel()
            self.waits += mine
            return result

        self._patch(ready)
        with scope:
            async with work():
                pass
        self._patch(self._ready)
        return scope


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Cut:
    return Cut(monkeypatch)


async def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until another process says so."""
    with trio.fail_after(20):
        while not await trio.to_thread.run_sync(is_so):  # noqa: ASYNC110
            await trio.sleep(0.01)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], object]:
    return eventually
