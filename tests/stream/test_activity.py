"""Who is there, as processes tell each other: what is lost heals, who is unknown is not active (I-1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from teamchat.stream.activity import (
    ACTIVE_SECONDS,
    GOSSIP_SECONDS,
    KEPT_SECONDS,
    REFRESH_SECONDS,
    SILENT_SECONDS,
    StreamActivity,
)


class Pair:
    """Two processes; `is_cut` loses what one tells the other."""

    def __init__(self) -> None:
        self.is_cut = False
        self.texts: list[str] = []
        self.here = StreamActivity(self._carry(lambda: self.there))
        self.there = StreamActivity(self._carry(lambda: self.here))

    def _carry(self, to: Callable[[], StreamActivity]) -> Callable[[str, str], None]:
        def carry(_: str, text: str) -> None:
            self.texts.append(text)
            if not self.is_cut:
                to().hear(text)

        return carry


def played(test: Callable[[Pair], Awaitable[None]]) -> Callable[[], None]:
    """Run a test with two processes that have heard of each other, as fast as time can go."""

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            pair = Pair()
            for one in (pair.here, pair.there):
                nursery.start_soon(one.run)
            await trio.sleep(GOSSIP_SECONDS)
            assert not pair.here.is_alone
            assert not pair.there.is_alone
            await test(pair)
            nursery.cancel_scope.cancel()

    def play() -> None:
        trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))

    play.__name__ = test.__name__
    return play


def active(seconds: float = ACTIVE_SECONDS) -> float:
    return trio.current_time() + seconds


@played
async def test_who_is_active_here_is_active_there_until_it_lapses(pair: Pair) -> None:
    pair.here.now("ada", [active()])
    assert not pair.there.is_active("ada")
    await trio.sleep(2 * GOSSIP_SECONDS)
    assert pair.there.is_active("ada")
    await trio.sleep(ACTIVE_SECONDS)
    assert not pair.there.is_active("ada")
    assert not pair.here.is_active("ada")
    assert pair.there.of("ada").is_open


@played
async def test_a_user_is_there_as_long_as_one_of_two_processes_has_a_stream(pair: Pair) -> None:
    pair.here.now("ada", [active()])
    pair.there.now("ada", [0.0])
    await trio.sleep(2 * GOSSIP_SECONDS)
    pair.here.now("ada", [])
    await trio.sleep(2 * GOSSIP_SECONDS)
    for one in (pair.here, pair.there):
        assert one.of("ada").is_open
        assert not one.is_active("ada")
    pair.there.now("ada", [])
    left = trio.current_time()
    await trio.sleep(2 * GOSSIP_SECONDS)
    for one in (pair.here, pair.there):
        assert not one.of("ada").is_open
        assert abs(one.of("ada").left_at - left) <= 1


@played
async def test_what_was_lost_is_told_again(pair: Pair) -> None:
    pair.is_cut = True
    pair.here.now("ada", [active(3 * REFRESH_SECONDS)])
    await trio.sleep(2 * GOSSIP_SECONDS)
    pair.is_cut = False
    assert not pair.there.of("ada").is_open
    await trio.sleep(2 * REFRESH_SECONDS)
    assert pair.there.is_active("ada")


@played
async def test_a_process_that_fell_silent_has_nobody_after_a_while(pair: Pair) -> None:
    changed = pair.there.follow()
    pair.here.now("ada", [0.0])
    await trio.sleep(2 * GOSSIP_SECONDS)
    assert changed.take() == {"ada"}
    assert changed.take() == set()
    pair.is_cut = True
    await trio.sleep(SILENT_SECONDS + 2 * REFRESH_SECONDS)
    assert not pair.there.of("ada").is_open
    await trio.sleep(KEPT_SECONDS + 2 * REFRESH_SECONDS)
    assert pair.there.there() == set()
    assert pair.there.is_alone


@played
async def test_who_left_is_remembered_for_a_while_and_then_forgotten(pair: Pair) -> None:
    pair.here.now("ada", [0.0])
    pair.here.now("ada", [])
    await trio.sleep(REFRESH_SECONDS)
    assert pair.here.there() == pair.there.there() == {"ada"}
    await trio.sleep(KEPT_SECONDS + 2 * REFRESH_SECONDS)
    assert pair.here.there() == pair.there.there() == set()


@played
async def test_many_changes_go_in_few_texts_that_are_no_larger_than_a_signal(pair: Pair) -> None:
    del pair.texts[:]
    for number in range(3000):
        for _ in range(3):
            pair.here.now(f"{number:032x}", [active()])
    await trio.sleep(2 * GOSSIP_SECONDS)
    assert len(pair.texts) == 3000 / 60
    assert max(map(len, pair.texts)) < 4000
    assert len(pair.there.there()) == 3000


@given(st.text())
def test_nonsense_is_passed_over(text: str) -> None:
    async def hear() -> None:
        one = StreamActivity()
        one.hear(text)
        assert one.there() == set()

    trio.run(hear)


@played
async def test_a_process_that_is_alone_tells_nothing(pair: Pair) -> None:
    texts: list[str] = []
    alone = StreamActivity(lambda _, text: texts.append(text))
    with trio.move_on_after(5 * REFRESH_SECONDS):
        alone.now("ada", [active()])
        await alone.run()
    assert not pair.here.of("ada").is_open
    assert len(texts) == 1, "it asks who else is there, once"
