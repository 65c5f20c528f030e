"""Streams that the suite opens: what is raised while one is open is raised outside of it too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conformance.tests.servers import Running, running
from teamchat_conformance import sse
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.verdicts import Miss, Verdicts


@asynccontextmanager
async def listening(server: Running, **options: Any) -> AsyncIterator[sse.Observer]:
    """Open a stream of the server's admin."""
    options.setdefault("token", await server.admin_token())
    async with sse.listening(server.instance.base_url, Recorder("run"), name="U", **options) as observer:
        yield observer


async def rename(server: Running, name: str) -> None:
    """Have the server send an event."""
    client = Client(server.instance.base_url, Recorder("run"), token=await server.admin_token())
    (await client.put("/server/settings", {"name": name})).expect(200)
    await client.aclose()


@pytest.mark.slow
async def test_what_is_raised_while_a_stream_is_open_is_not_lost() -> None:
    async with running("dev") as server:
        with pytest.raises(Miss, match="said here"):
            async with listening(server):
                raise Miss("said here")
        with pytest.raises(ZeroDivisionError):
            async with listening(server):
                _ = 1 / 0


@pytest.mark.slow
async def test_a_check_is_decided_by_a_miss_within_its_stream() -> None:
    verdicts = Verdicts()
    async with running("dev") as server:
        with verdicts.only(frozenset({"XX-01"})), verdicts.of("XX-01"):
            async with listening(server) as observer:
                await observer.expect("NEVER", seconds=0.05)
    assert verdicts.findings["XX-01"].outcome == "fail"


@pytest.mark.slow
async def test_a_refusal_is_given_with_its_status_and_no_event() -> None:
    async with running("dev") as server, listening(server, token="garbage") as observer:
        await observer.ended(10)
    assert (observer.status, observer.events) == (401, [])


@pytest.mark.slow
async def test_a_stream_that_is_left_is_closed() -> None:
    async with running("dev") as server:
        async with listening(server) as observer:
            await observer.expect("CONNECTED")
        assert observer.ended_at is not None
        await rename(server, "x")
        assert len(observer.events) == 1


async def test_reading_can_be_stopped_and_taken_up_again() -> None:
    async with running("dev") as server, listening(server) as observer:
        await observer.expect("CONNECTED")
        observer.hold()
        await rename(server, "x")
        observer.release()
        await observer.expect("UPDATE_SERVER_SETTINGS", seconds=30, name="x")
