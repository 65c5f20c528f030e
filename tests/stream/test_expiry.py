"""Streams of sessions that expire by the clock, of which nothing in the log tells (decision D-37)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from teamchat.accounts import Accounts
from teamchat.errors import StorageError
from teamchat.events import LoggedEvent
from teamchat.interfaces import Storage
from teamchat.model import Caller, User
from teamchat.settings import AuthSettings, EventsSettings, InitialUser
from teamchat.stream import Hub, Stream, expiry
from teamchat.stream.transport import Transport
from tests.accounts.conftest import SECRET, Clock
from tests.stream.wire import until

LATEST = 10.0
"""How many seconds a stream may outlive its session."""


class NoTransport:
    """A way to a client that takes everything."""

    chunked = False

    def send_now(self, data: bytes) -> int:
        return len(data)

    async def ready(self) -> None:
        """It always is."""

    async def write(self, data: bytes) -> None:
        """It is gone."""

    def abort(self) -> None:
        """There is no connection."""

    finish = abort


class NothingHappens:
    """A storage whose log is empty and stays so: nothing waits for it but Trio's clock."""

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        yield self

    async def fetch(self, sql: str) -> list[Any]:
        return [(None,)] if sql.startswith("select min") else []

    async def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        await trio.sleep_forever()
        yield ()

    async def log_bounds(self) -> tuple[int, int]:
        return 1, 0

    async def position(self) -> int:
        return 0


class Sessions:
    """When sessions expire, in seconds of Trio's clock."""

    def __init__(self) -> None:
        self.end: dict[str, float] = {}
        self.asked: list[int] = []
        self.is_away = False

    async def expiries(self, session_ids: Sequence[str]) -> Mapping[str, int]:
        self.asked.append(len(session_ids))
        if self.is_away:
            raise StorageError("The storage is away.")
        ends = {session: self.end[session] for session in session_ids}
        return {session: int(end * 1000) for session, end in ends.items() if end > trio.current_time()}


class World:
    """A hub, and the sessions that its streams are of."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.sessions = Sessions()
        self.hub = Hub(
            NothingHappens(),  # type: ignore[arg-type]
            EventsSettings(max_streams_per_user=10_000),
            expiries=self.sessions.expiries,
            clock=lambda: int(trio.current_time() * 1000),
        )

    async def open(self, session: str, *, lasts: float, resumes: bool = False) -> Stream:
        """Open a stream of a session that expires in so many seconds."""
        self.sessions.end[session] = trio.current_time() + lasts
        caller = Caller(User("u", "u", "u@example.org", False), session)
        return await opened(self.hub, caller, "" if resumes else None)


async def opened(hub: Hub, caller: Caller, last_event_id: str | None = None) -> Stream:
    transport: Transport = NoTransport()  # type: ignore[assignment]
    stream = await hub.open(caller, last_event_id, transport)
    stream.start()
    return stream


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with trio.open_nursery() as nursery:
        made = World(nursery)
        await nursery.start(made.hub.run)
        yield made
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("lasts", [0.5, 4.9, 5.0, 7.0, 59.0, 600.0])
@pytest.mark.parametrize("resumes", [False, True])
async def test_d37_a_stream_ends_within_ten_seconds_after_its_session_expired(
    world: World, autojump_clock: MockClock, lasts: float, resumes: bool
) -> None:
    stream = await world.open("s", lasts=lasts, resumes=resumes)
    await trio.sleep(lasts - 0.1)
    assert stream.end_reason is None
    await trio.sleep(0.1 + LATEST)
    assert stream.end_reason == "the session has ended"
    assert len(world.hub) == 0


async def test_the_stream_of_a_session_that_was_refreshed_goes_on(
    world: World, autojump_clock: MockClock
) -> None:
    stream, other = await world.open("s", lasts=60), await world.open("t", lasts=60)
    await trio.sleep(30)
    world.sessions.end["s"] += 60
    await trio.sleep(60)
    assert (stream.end_reason, other.end_reason) == (None, "the session has ended")
    await trio.sleep(30 + LATEST)
    assert stream.end_reason == "the session has ended"


@pytest.mark.slow
async def test_an_idle_stream_is_asked_for_once_and_again_when_its_session_may_have_expired(
    world: World,
    autojump_clock: MockClock,
) -> None:
    for number in range(1000):
        await world.open(f"session {number}", lasts=3600)
    await trio.sleep(3000)
    assert sum(world.sessions.asked) == 1000
    assert max(world.sessions.asked) <= 512, "in pieces"
    for session in world.sessions.end:
        world.sessions.end[session] += 3600
    await trio.sleep(3000)
    assert sum(world.sessions.asked) == 2000
    assert len(world.hub) == 1000


async def test_a_storage_that_is_away_ends_no_stream_and_is_asked_again(
    world: World, autojump_clock: MockClock
) -> None:
    stream = await world.open("s", lasts=1)
    world.sessions.is_away = True
    await trio.sleep(60)
    assert stream.end_reason is None
    world.sessions.is_away = False
    await trio.sleep(LATEST)
    assert stream.end_reason == "the session has ended"


async def test_what_is_no_longer_open_is_forgotten(world: World, autojump_clock: MockClock) -> None:
    (await world.open("s", lasts=1)).leave()
    await trio.sleep(60)
    assert world.sessions.asked == []


async def test_the_sessions_of_a_storage_end_their_streams_and_a_refresh_keeps_them(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "CHECK_SECONDS", 0.01)
    clock, auth = Clock(), AuthSettings(auth_mode="dev", refresh_token_expiry_seconds=1000)
    accounts = Accounts.build(storage, auth, SECRET, clock=clock)
    await accounts.ensure_initial_user(InitialUser("Ada", "ada@example.org"))
    hub = Hub(storage, EventsSettings(), expiries=accounts.sessions.expiries, clock=clock)
    async with trio.open_nursery() as nursery:
        await nursery.start(hub.run)
        signed = [(await accounts.sign_in("ada@example.org", "192.0.2.1", ""))[1] for _ in range(2)]
        expires, stays = [await opened(hub, await accounts.authenticate(one.access_token)) for one in signed]
        clock.pass_seconds(600)
        await accounts.sessions.refresh(signed[1].refresh_token)
        assert len(hub) == 2
        clock.pass_seconds(600)
        await until(lambda: expires.end_reason is not None)
        assert (expires.end_reason, stays.end_reason) == ("the session has ended", None)
        clock.pass_seconds(600)
        await until(lambda: stays.end_reason is not None)
        nursery.cancel_scope.cancel()
