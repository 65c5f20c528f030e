"""Turns: nobody's mails stand in the way of others', however many or however slow they are."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.accounts.mail_turns import HALF_LIFE_SECONDS, Turns, network_requester


class Asked(NamedTuple):
    requester: str
    number: int = 0


def asked(requester: str, count: int) -> list[Asked]:
    return [Asked(requester, number) for number in range(count)]


def names(chosen: list[Asked]) -> list[str]:
    return [each.requester for each in chosen]


async def test_one_who_is_alone_leaves_half_of_the_places_free(autojump_clock: Any) -> None:
    assert Turns().choose(asked("eve", 100), 8) == asked("eve", 4)


async def test_the_places_are_shared_among_all_who_ask(autojump_clock: Any) -> None:
    waiting = asked("eve", 100) + asked("ann", 100) + asked("bob", 1)
    assert names(Turns().choose(waiting, 8)) == ["eve", "ann", "bob", "eve", "ann", "eve"]


async def test_who_holds_places_gets_no_more_than_are_left(autojump_clock: Any) -> None:
    turns = Turns()
    with ExitStack() as held:
        for each in turns.choose(asked("eve", 100), 8):
            held.enter_context(turns.holding(each.requester))
        assert turns.held == 4
        assert turns.choose(asked("eve", 100), 4) == []
        assert names(turns.choose(asked("eve", 100) + asked("bob", 100), 4)) == ["bob", "bob"]
    assert turns.held == 0
    assert len(turns.choose(asked("eve", 100), 8)) == 4


async def test_who_has_used_little_comes_before_who_has_used_much(autojump_clock: Any) -> None:
    turns = Turns()
    for network in range(20):
        with turns.holding(f"slow{network}"):
            await trio.sleep(20)
    with turns.holding("office"):
        await trio.sleep(0.3)
    slow = [each for network in range(20) for each in asked(f"slow{network}", 60)]
    assert names(turns.choose([*slow, Asked("office")], 1)) == ["office"]
    assert names(turns.choose([*slow, Asked("new")], 1)) == ["new"]


async def test_what_was_used_is_forgotten_in_time(autojump_clock: Any) -> None:
    turns = Turns()
    for network in range(1000):
        with turns.holding(f"network{network}"):
            await trio.sleep(0.5)
    assert len(turns._used) < 1000 * 8
    assert turns.used("network999") == pytest.approx(0.5)
    await trio.sleep(HALF_LIFE_SECONDS)
    assert turns.used("network999") == pytest.approx(0.25)
    await trio.sleep(20 * HALF_LIFE_SECONDS)
    with turns.holding("another"):
        await trio.sleep(0.5)
    assert set(turns._used) == {"another"}
    assert not turns._held


class Kept(Turns):
    """Without what was used, for its clock is Trio's."""

    def used(self, requester: str) -> float:
        return 0.0


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.integers(0, 16))
def test_no_more_are_chosen_than_are_free_each_once_and_a_place_is_left_for_the_next(
    requesters: list[str], free: int
) -> None:
    waiting = [Asked(requester, number) for number, requester in enumerate(requesters)]
    chosen = Kept().choose(waiting, free)
    assert len(set(chosen)) == len(chosen) <= free
    for requester in set(requesters):
        mine = [each for each in waiting if each.requester == requester]
        got = [each for each in chosen if each.requester == requester]
        assert got == mine[: len(got)], "of one requester those come first that stand first"
        assert len(got) <= max(1, (free + 1) // 2)
    if free and waiting:
        assert chosen


@pytest.mark.parametrize(
    ("ip", "name"),
    [("192.0.2.1", "network:192.0.2.1"), ("2001:db8::5", "network:2001:db8::/64"), ("?", "network:?")],
)
def test_a_stranger_is_their_network(ip: str, name: str) -> None:
    assert network_requester(ip) == name
