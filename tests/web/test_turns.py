"""Of what gives way two are handled at a time, and all else passes them by (extension I-5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import trio

from teamchat.web import Section, Success
from teamchat.web.app import BEHIND_AT_ONCE, PASSED_SECONDS, App
from tests.storages import sqlite_only
from tests.turns import counting_turns
from tests.web.client import Client
from tests.web.conftest import World


class Late:
    """A site with an endpoint that gives way; its handler waits for `go`."""

    def __init__(self, world: World) -> None:
        self.handled = 0
        self.begun, self.go = trio.Event(), trio.Event()
        section = Section("late")
        section.endpoint("GET", "/late", answer=Success, gives_way=True)(self.late)
        self.site: App = world.rebuilt(section)
        self.bob = Client(self.site, world.bob.token)

    async def late(self) -> Success:
        """Wait."""
        self.handled += 1
        self.begun.set()
        await self.go.wait()
        return Success()


@pytest.fixture
def late(world: World) -> Late:
    return Late(world)


@asynccontextmanager
async def all_turns(site: App) -> AsyncIterator[None]:
    """Take all that there are."""
    async with AsyncExitStack() as taken:
        for _ in range(BEHIND_AT_ONCE):
            await taken.enter_async_context(site.turn_behind_others())
        yield


async def test_all_else_passes_by_what_gives_way(world: World, late: Late) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(late.bob.ok, "GET", "/late")
        await late.begun.wait()
        await late.bob.ok("POST", f"/channels/{await world.channel()}/messages", {"content": "Meanwhile"})
        assert late.handled == BEHIND_AT_ONCE
        late.go.set()
    assert late.handled == 5


async def test_who_has_waited_for_too_long_is_asked_to_come_again(
    late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late.site._behind, "_seconds", 0.01)
    async with all_turns(late.site):
        refused = await late.bob.call("GET", "/late")
    refused.problem(503)
    assert refused.headers["retry-after"] == "5"
    late.go.set()
    await late.bob.ok("GET", "/late")
    await late.bob.ok("GET", "/late")  # a turn ends with its answer


async def test_who_was_signed_out_while_they_waited_is_told_nothing(world: World, late: Late) -> None:
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append((await late.bob.call("GET", "/late")).status)

    late.go.set()
    caller = await world.app.accounts.authenticate(late.bob.token or "")
    async with trio.open_nursery() as nursery, all_turns(late.site):
        nursery.start_soon(ask)
        with trio.fail_after(5):
            while not late.site._behind.waiting:
                await trio.lowlevel.checkpoint()
        await world.app.accounts.sessions.end(caller)
    assert statuses == [401]
    assert late.handled == 0


async def test_what_streams_say_of_themselves_gives_way(world: World) -> None:
    assert {one.rule for one in world.site.endpoints if one.gives_way} == {"/events/<connectionId>"}


async def test_what_gives_way_waits_until_what_is_being_handled_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.web.app.PASSED_SECONDS", 5.0)
    order: list[str] = []
    go = trio.Event()
    section = Section("both")

    @section.endpoint("GET", "/late", answer=Success, gives_way=True)
    async def late() -> Success:
        order.append("late")
        return Success()

    @section.endpoint("GET", "/first", answer=Success)
    async def first() -> Success:
        await go.wait()
        order.append("first")
        return Success()

    site = world.rebuilt(section)
    bob = Client(site, world.bob.token)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bob.ok, "GET", "/first")
        with trio.fail_after(5):
            while not site.going_first._count:
                await trio.lowlevel.checkpoint()
            for _ in range(3):
                nursery.start_soon(bob.ok, "GET", "/late")
            while site.going_first._over is None:
                await trio.lowlevel.checkpoint()
        go.set()
    assert order == ["first", "late", "late", "late"]


@sqlite_only("a database elsewhere answers while the clock jumps")
async def test_what_is_handled_for_long_is_not_waited_for(
    world: World, late: Late, autojump_clock: trio.testing.MockClock
) -> None:
    late.go.set()
    with late.site.going_first:
        began = trio.current_time()
        await late.bob.ok("GET", "/late")
        await late.bob.ok("GET", "/late")
    await late.bob.ok("GET", "/late")
    assert trio.current_time() - began == pytest.approx(PASSED_SECONDS)


async def test_of_those_that_give_way_one_goes_on_in_each_turn_of_the_loop(late: Late) -> None:
    went_on: list[int] = []

    async def go_on() -> None:
        async with late.site.turn_behind_others():
            went_on.append(turns.count)

    with counting_turns() as turns:
        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(go_on)
    assert len(set(went_on)) == 10
