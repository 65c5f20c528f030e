"""Streams that the suite opens: what is raised while one is open is raised outside of it too."""

from __future__ import annotations

import pytest
import trio

from conformance.tests.fake import Fake, Settings
from teamchat_conformance import sse
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.verdicts import Miss, Verdicts


async def a_token(fake: Fake) -> str:
    client = Client(fake.base_url, Recorder("run"), verify_tls=False)
    token = (await client.post("/auth/dev-login", {"email": fake.settings.admin_email})).ok()["token"]
    await client.aclose()
    return str(token)


async def test_a_miss_while_a_stream_is_open_is_not_lost() -> None:
    async with Fake.serving(Settings()) as fake:
        with pytest.raises(Miss, match="said here"):
            async with sse.listening(fake.base_url, Recorder("run"), name="U", token=await a_token(fake)):
                raise Miss("said here")


async def test_a_fault_of_the_suite_while_a_stream_is_open_is_not_lost() -> None:
    async with Fake.serving(Settings()) as fake:
        with pytest.raises(ZeroDivisionError):
            async with sse.listening(fake.base_url, Recorder("run"), name="U", token=await a_token(fake)):
                _ = 1 / 0


async def test_a_check_is_decided_by_a_miss_within_its_stream() -> None:
    verdicts = Verdicts()
    async with Fake.serving(Settings()) as fake:
        token = await a_token(fake)
        with verdicts.only(frozenset({"XX-01"})), verdicts.of("XX-01"):
            async with sse.listening(fake.base_url, Recorder("run"), name="U", token=token) as observer:
                await observer.expect("NEVER", seconds=0.05)
    assert verdicts.findings["XX-01"].outcome == "fail"


async def test_a_refusal_is_given_with_its_status_and_no_event() -> None:
    async with (
        Fake.serving(Settings()) as fake,
        sse.listening(fake.base_url, Recorder("run"), name="U", token="garbage") as observer,
    ):
        await observer.ended(2)
    assert (observer.status, observer.events) == (401, [])


async def test_a_stream_that_is_left_is_closed() -> None:
    async with Fake.serving(Settings()) as fake:
        token = await a_token(fake)
        async with sse.listening(fake.base_url, Recorder("run"), name="U", token=token) as observer:
            await observer.expect("CONNECTED")
        assert observer.ended_at is not None
        fake.tell("UPDATE_SERVER_SETTINGS", {"name": "x"})
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert len(observer.events) == 1


async def test_reading_can_be_stopped_and_taken_up_again() -> None:
    async with Fake.serving(Settings()) as fake:
        token = await a_token(fake)
        async with sse.listening(fake.base_url, Recorder("run"), name="U", token=token) as observer:
            await observer.expect("CONNECTED")
            observer.reading = trio.Event()
            fake.tell("UPDATE_SERVER_SETTINGS", {"name": "x"})
            observer.reading.set()
            await observer.expect("UPDATE_SERVER_SETTINGS", name="x")
