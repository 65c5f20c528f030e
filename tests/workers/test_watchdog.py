"""A worker that hangs without dying is noticed and replaced; one that is slow, or slept, is left alone."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.server.workers.line import BEAT_SECONDS, Alive, Line, Ready
from teamchat.server.workers.worker import MOST_MISSED, Worker
from tests.workers.several import several


class Process:
    """A process that runs until it is killed."""

    pid = 4711

    def __init__(self) -> None:
        self.was_killed = trio.Event()

    async def wait(self) -> None:
        await self.was_killed.wait()

    def kill(self) -> None:
        self.was_killed.set()


@asynccontextmanager
async def watched() -> AsyncIterator[tuple[Process, Line]]:
    """Yield a process that a supervisor watches, and the worker's end of the line."""
    ours, theirs = Line.pair()
    process = Process()
    raw: Any = process
    line = Line(trio.socket.from_stdlib_socket(theirs))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Worker(raw, ours).live, lambda: None)
        yield process, line
        nursery.cancel_scope.cancel()
    line.close()
    ours.close()


async def beat(line: Line, every: float = BEAT_SECONDS) -> None:
    while True:
        await trio.sleep(every)
        await line.send(Alive())


async def test_a_worker_that_served_and_is_silent_is_killed_after_two_minutes(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with watched() as (process, line):
        await line.send(Ready())
        await process.was_killed.wait()
        assert MOST_MISSED * BEAT_SECONDS <= trio.current_time() <= (MOST_MISSED + 1) * BEAT_SECONDS
    [told] = caplog.records
    assert told.getMessage() == "a worker is not heard of any more and is killed"


@pytest.mark.parametrize("every", [BEAT_SECONDS, 5.5 * BEAT_SECONDS])
async def test_a_worker_that_is_heard_of_is_left_alone_also_if_it_is_late(
    autojump_clock: Any, every: float
) -> None:
    async with watched() as (process, line):
        await line.send(Ready())
        with trio.move_on_after(3600):
            await beat(line, every)
        assert not process.was_killed.is_set()


async def test_a_worker_may_take_its_time_to_start(autojump_clock: Any) -> None:
    async with watched() as (process, _):
        await trio.sleep(3600)
        assert not process.was_killed.is_set()


async def test_a_machine_that_slept_is_no_alarm(mock_clock: Any) -> None:
    """Whether the clock stood still or went on: whoever wakes looks once, and is heard of before the next."""
    async with watched() as (process, line):
        await line.send(Ready())
        async with trio.open_nursery() as worker:
            worker.start_soon(beat, line)
            for _ in range(10):
                await trio.testing.wait_all_tasks_blocked()
                mock_clock.jump(8 * 3600)
            await trio.testing.wait_all_tasks_blocked()
            assert not process.was_killed.is_set()
            worker.cancel_scope.cancel()


IMPATIENT = """
import sys
if "teamchat.server.workers" in sys.orig_argv:
    from teamchat.server.workers import serving
    serving.BEAT_SECONDS = 0.1
elif "serve" in sys.orig_argv:
    from teamchat.server.workers import worker
    worker.BEAT_SECONDS = 1.0
"""


@pytest.mark.slow
async def test_a_worker_that_hangs_is_replaced_and_the_others_serve(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(IMPATIENT)
    async with several(tmp_path) as server:
        hung, other = server.workers()
        os.kill(hung, signal.SIGSTOP)
        await server.replaced(hung, {other})
        told = [line for line in server.logged() if line["process"] == hung]
        assert [line["event"] for line in told] == [
            "a worker is not heard of any more and is killed",
            "a worker ended and is replaced",
        ]
        assert other in server.workers()
