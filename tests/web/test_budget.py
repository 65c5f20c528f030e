"""The budget of bytes in memory (D-44): nobody has all there is, and whoever waits has their turn."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import Unavailable
from teamchat.web import budget as module
from teamchat.web.budget import Budget, Hold, Owner

ADA, BOB, EVE = Owner("ada", None), Owner("bob", None), Owner("eve", None)


def filled(budget: Budget, owner: Owner, size: int = 1) -> int:
    """Take as many bytes as an owner gets, `size` with each request, and return how many."""
    taken = 0
    while Hold(budget, owner).take(size):
        taken += size
    return taken


def test_a_user_alone_gets_a_fifth_of_all_and_a_network_alone_half() -> None:
    assert filled(Budget(1000), ADA, 10) == 200
    assert filled(Budget(1000), Owner(None, "192.0.2.1"), 10) == 500


def test_the_users_of_one_network_get_half_of_all_together() -> None:
    budget = Budget(100_000)
    taken = [filled(budget, Owner(f"user {n}", "192.0.2.1"), 100) for n in range(200)]
    assert sum(taken) == 50_000
    assert filled(budget, BOB, 100) == 10_000, "who comes from elsewhere finds room"


@pytest.mark.parametrize("others", [1, 4, 20])
def test_however_many_take_all_they_can_the_next_one_finds_room(others: int) -> None:
    budget = Budget(128_000)
    for number in range(others):
        filled(budget, Owner(f"user {number}", f"192.0.2.{number}"), 10)
    assert filled(budget, BOB, 10) >= 128_000 * 0.8**others / 6


def test_the_oldest_of_somebody_may_take_more_as_long_as_an_eighth_is_free() -> None:
    budget = Budget(800)
    assert Hold(budget, ADA).take(50)
    first, second = Hold(budget, BOB), Hold(budget, BOB)
    assert first.take(400)
    assert not second.take(400)
    assert not second.take(100)
    assert first.take(250)
    assert not first.take(1), "an eighth stays free"


def test_what_is_alone_on_the_server_may_be_of_any_size() -> None:
    budget = Budget(100)
    alone = Hold(budget, ADA)
    assert alone.take(5_000)
    assert not Hold(budget, BOB).take(1)
    alone.release()
    assert Hold(budget, BOB).take(1)


def test_bytes_that_many_hold_count_once() -> None:
    budget, page = Budget(10_000), bytes(300)
    holds = [Hold(budget, owner) for owner in (ADA, ADA, BOB, EVE)]
    assert all(hold.take(1, page) for hold in holds)
    assert budget.held == 304
    for hold in holds[:3]:
        hold.release()
    assert budget.held == 301
    holds[3].release()
    assert budget.held == 0


def test_by_force_there_is_always_room() -> None:
    budget = Budget(100)
    assert Hold(budget, ADA).take(90)
    assert Hold(budget, BOB).take(500, by_force=True)
    assert budget.held == 590


async def test_who_finds_no_room_has_it_when_it_is_given_back(autojump_clock: Any) -> None:
    budget = Budget(100)
    first, second = Hold(budget, ADA), Hold(budget, BOB)
    assert first.take(100)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(second.wait, "a line", 60)
        await trio.testing.wait_all_tasks_blocked()
        assert budget.held == 100
        first.release()
        await trio.testing.wait_all_tasks_blocked()
    assert (budget.held, second.size, budget.lines) == (60, 60, {})


async def test_a_line_keeps_its_order_and_holds_no_other_up(autojump_clock: Any) -> None:
    budget, served = Budget(800), []
    held = Hold(budget, EVE)
    assert held.take(600)

    async def wait(name: str, owner: Owner, line: str, size: int) -> None:
        hold = Hold(budget, owner)
        await hold.wait(line, size)
        served.append(name)
        hold.release()

    async with trio.open_nursery() as nursery:
        for name, owner, line, size in (
            ("large", ADA, "ada", 500),
            ("small behind it", ADA, "ada", 1),
            ("of another", BOB, "bob", 50),
        ):
            nursery.start_soon(wait, name, owner, line, size)
            await trio.testing.wait_all_tasks_blocked()
        assert served == ["of another"]
        held.release()
    assert served == ["of another", "large", "small behind it"]
    assert budget.held == 0


async def test_who_waits_in_many_lines_keeps_nobody_else_waiting(autojump_clock: Any) -> None:
    budget, asked = Budget(800), 0
    held = Hold(budget, EVE)
    assert held.take(600)
    allows = budget.allows

    def counted(*given: Any) -> bool:
        nonlocal asked
        asked += 1
        return allows(*given)

    with patch.object(budget, "allows", counted):
        async with trio.open_nursery() as nursery:
            for line in range(500):
                nursery.start_soon(Hold(budget, ADA).wait, line, 700)
            await trio.testing.wait_all_tasks_blocked()
            asked = 0
            await Hold(budget, BOB).wait("bob", 10)
            assert asked == 2
            nursery.cancel_scope.cancel()


async def test_after_30_seconds_it_is_told_to_come_back(autojump_clock: Any) -> None:
    budget = Budget(100)
    assert Hold(budget, ADA).take(100)
    since = trio.current_time()
    with pytest.raises(Unavailable) as told:
        await Hold(budget, BOB).wait("a line", 60)
    assert trio.current_time() - since == module.WAIT_SECONDS == 30
    assert told.value.retry_after == module.RETRY_SECONDS
    assert budget.lines == {}


async def test_who_leaves_the_line_leaves_it_to_the_next(autojump_clock: Any) -> None:
    budget = Budget(800)
    first, last = Hold(budget, EVE), Hold(budget, ADA)
    assert first.take(600)
    async with trio.open_nursery() as nursery:
        with trio.move_on_after(1):
            nursery.start_soon(Hold(budget, ADA).wait, "a line", 700)
            await trio.sleep_forever()
        nursery.cancel_scope.cancel()
    await last.wait("a line", 50)
    assert budget.held == 650


OWNERS = st.builds(Owner, st.none() | st.sampled_from("abc"), st.none() | st.sampled_from("xy"))
PAGES = {name: bytes(size) for name, size in (("empty", 0), ("short", 50), ("long", 300), ("huge", 5000))}


@given(
    st.lists(st.tuples(OWNERS, st.integers(0, 700), st.none() | st.sampled_from(list(PAGES)), st.booleans()))
)
def test_what_was_taken_is_given_back_whole(steps: list[tuple[Owner, int, str | None, bool]]) -> None:
    budget = Budget(1000)
    holds = []
    for owner, size, page, gives_back in steps:
        hold = Hold(budget, owner)
        if hold.take(size, PAGES.get(page or "")):
            holds.append(hold)
            assert budget.held <= budget.most or len(holds) == 1
        if gives_back and holds:
            holds.pop(len(holds) // 2).release()
        pages = {id(one.data): len(one.data) for one in holds if one.data is not None}
        assert budget.held == sum(one.size for one in holds) + sum(pages.values())
    for hold in holds:
        hold.release()
    assert (budget.held, budget._users, budget._networks) == (0, {}, {})
