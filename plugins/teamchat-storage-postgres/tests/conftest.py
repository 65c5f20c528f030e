"""One PostgreSQL for all tests, a database of its own for each, and what makes it misbehave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
import trio
from teamchat_storage_postgres import PostgresOptions, connection
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres

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


class _Moment(trio.abc.Instrument):
    """Cancels a scope at the n-th of all moments in which the task that made this waits."""

    def __init__(self, number: int) -> None:
        self.waits = 0
        self.scope = trio.CancelScope()
        self._number = number
        self._task = trio.lowlevel.current_task()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """It waits now."""
        if task is self._task:
            if self._number == 2 * self.waits:
                self.scope.cancel()
            self.waits += 1

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """What it waited for has come."""
        if task is self._task and self._number == 2 * self.waits - 1:
            self.scope.cancel()


class Cut:
    """Cancels a piece of work at a moment that is counted, whatever its task waits for."""

    async def count(self, work: Callable[[], AbstractAsyncContextManager[None]]) -> int:
        """Return how often `work` waits."""
        return (await self._run(_Moment(-1), work)).waits

    async def at(
        self, number: int, work: Callable[[], AbstractAsyncContextManager[None]]
    ) -> trio.CancelScope:
        """Run `work`, cancelled within its wait `number // 2`, or right after it if `number` is odd."""
        return (await self._run(_Moment(number), work)).scope

    async def _run(self, moment: _Moment, work: Callable[[], AbstractAsyncContextManager[None]]) -> _Moment:
        trio.lowlevel.add_instrument(moment)
        try:
            with moment.scope:
                async with work():
                    pass
        finally:
            trio.lowlevel.remove_instrument(moment)
        return moment


@pytest.fixture
def cut() -> Cut:
    return Cut()


async def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until another process says so."""
    with trio.fail_after(20):
        while not await trio.to_thread.run_sync(is_so):  # noqa: ASYNC110
            await trio.sleep(0.01)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], object]:
    return eventually
