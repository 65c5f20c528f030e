"""Services with one thing wrong."""

from __future__ import annotations

from typing import Any, ClassVar

import trio

from teamchat import Service
from teamchat.application import Application
from teamchat.testing import ServiceContract
from tests.testing.faults import found_by


class Right:
    """`teamchat.Service`. What is wrong is in the subclasses."""

    name = "right"
    runs = 0
    ran_in: ClassVar[list[Application]] = []

    def __init__(self, app: Application) -> None:
        self.app = app

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await trio.sleep_forever()


class Contract(ServiceContract):
    service: type[Any]

    def make_service(self, app: Application) -> Service:
        made: Service = self.service(app)
        return made


@found_by(test_it_has_a_name="a service needs a name")
class TestHasNoName(Contract):
    class service(Right):  # noqa: N801
        name = ""


UNSTARTED = "test_it_may_be_stopped_before_it_has_started"
TWICE = "test_two_processes_may_run_it_at_once"
RUN = ("test_it_starts_and_runs_until_it_is_stopped", "test_it_can_be_run_again")


@found_by(**dict.fromkeys(RUN, "run() has returned: a service runs until it is cancelled"))
class TestEnds(Contract):
    class service(Right):  # noqa: N801
        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            task_status.started()


@found_by(
    **dict.fromkeys(
        (*RUN, "test_two_processes_may_run_it_at_once"),
        "has not called task_status.started() after 1.5 seconds",
    )
)
class TestNeverSaysThatItHasStarted(Contract):
    class service(Right):  # noqa: N801
        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            await trio.sleep_forever()


@found_by(**dict.fromkeys((*RUN, TWICE), "has returned without calling task_status.started()"))
class TestEndsBeforeItHasStarted(Contract):
    class service(Right):  # noqa: N801
        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            await trio.lowlevel.checkpoint()


@found_by(test_it_can_be_run_again="it has run already")
class TestRunsOnce(Contract):
    class service(Right):  # noqa: N801
        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            if self.app in self.ran_in:
                raise ValueError("it has run already")
            try:
                await super().run(task_status=task_status)
            finally:
                self.ran_in.append(self.app)


@found_by(test_two_processes_may_run_it_at_once="another process runs it")
class TestWantsToBeAlone(Contract):
    class service(Right):  # noqa: N801
        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            if type(self).runs:
                raise ValueError("another process runs it")
            type(self).runs += 1
            try:
                await super().run(task_status=task_status)
            finally:
                type(self).runs -= 1


@found_by(
    **dict.fromkeys(
        (*RUN, "test_it_may_be_stopped_before_it_has_started"), "does not end when it is cancelled"
    )
)
class TestTakesItsTime(Contract):
    class service(Right):  # noqa: N801
        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            try:
                await super().run(task_status=task_status)
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(2)  # longer than the patience
