"""What every service must do, whatever it is there for."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from teamchat.application import Application
from teamchat.interfaces import Service
from teamchat.settings import Settings
from teamchat.testing.auth import application

PATIENCE_SECONDS = 30
_WILL_NOT_STOP = "run() does not end when it is cancelled: let `trio.Cancelled` pass"


class ServiceContract(ABC):
    """Tests of a service. Subclass it with a name that begins with ``Test`` and give one method::

    class TestHeartbeat(ServiceContract):
        def make_service(self, app):
            return Heartbeat(app.storage)
    """

    def settings(self) -> Settings:
        """Return the settings of the application. Override it if the service needs others."""
        return Settings()

    @abstractmethod
    def make_service(self, app: Application) -> Service:
        """Return the service, as the hook ``services`` does."""

    @asynccontextmanager
    async def application(self, tmp_path: Path) -> AsyncIterator[Application]:
        """Yield an application with a storage, for tests of your own."""
        async with application(self.settings(), tmp_path) as app:
            yield app

    async def test_it_has_a_name(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            assert self.make_service(app).name, "a service needs a name: the log names the one that fails"

    async def test_it_starts_and_runs_until_it_is_stopped(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            await self._run_for_a_moment(self.make_service(app))

    async def test_it_can_be_run_again(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            await self._run_for_a_moment(self.make_service(app))
            await self._run_for_a_moment(self.make_service(app))

    async def test_two_processes_may_run_it_at_once(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app, trio.open_nursery() as nursery:
            for service in (self.make_service(app), self.make_service(app)):
                await _started(nursery, service.run)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    async def test_it_may_be_stopped_before_it_has_started(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            with trio.move_on_after(PATIENCE_SECONDS) as patience, trio.CancelScope() as scope:
                scope.cancel()
                await self.make_service(app).run(task_status=trio.TASK_STATUS_IGNORED)
            assert not patience.cancelled_caught, _WILL_NOT_STOP

    async def _run_for_a_moment(self, service: Service) -> None:
        ended = trio.Event()

        async def run(*, task_status: trio.TaskStatus[None]) -> None:
            try:
                await service.run(task_status=task_status)
            finally:
                ended.set()

        with trio.CancelScope() as patience:
            async with trio.open_nursery() as nursery:
                await _started(nursery, run)
                await wait_all_tasks_blocked()
                assert not ended.is_set(), "run() has returned: a service runs until it is cancelled"
                patience.deadline = trio.current_time() + PATIENCE_SECONDS
                nursery.cancel_scope.cancel()
        assert not patience.cancelled_caught, _WILL_NOT_STOP


async def _started(nursery: trio.Nursery, run: Callable[..., Awaitable[None]]) -> None:
    """Start a service, and say in words what is wrong if it does not."""
    try:
        with trio.fail_after(PATIENCE_SECONDS):
            await nursery.start(run)
    except trio.TooSlowError:
        pytest.fail(f"run() has not called task_status.started() after {PATIENCE_SECONDS} seconds")
    except RuntimeError as error:
        if "started" not in str(error):
            raise
        pytest.fail("run() has returned without calling task_status.started()")
