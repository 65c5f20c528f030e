"""The simulation keeps the rules of the server that it stands for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.company import DAY, POST, READ_MARK
from benchmarks.simulation import (
    MOST_BODIES,
    Batch,
    Costs,
    Installation,
    Kind,
    Measured,
    Outcome,
    Room,
    Write,
    batched,
    installation_of,
    simulate,
    told,
)

COSTS = Costs(
    commit=0.002,
    read=0.001,
    read_database=0.0001,
    follow=0.00001,
    delivery=0.000005,
    membership_bytes=400,
    stream_bytes=9000,
)


def at(*moments: float, turn: float = 0.001) -> list[Write]:
    return [Write(moment, turn, is_logged=True) for moment in moments]


def sizes_of(batches: Sequence[Batch]) -> list[int]:
    return [len(batch.dues) for batch in batches]


def simulated(kinds: dict[str, Kind], *, nodes: int = 2, costs: Costs = COSTS) -> Outcome:
    installation = Installation(nodes, 3000, 100_000, kinds)
    return simulate(installation, costs, seconds=20, chance=random.Random(1))


def test_writes_that_lie_apart_are_a_commit_each() -> None:
    batches = list(batched([at(0.1, 0.2), at(0.3)], 0.002))
    assert sizes_of(batches) == [1, 1, 1]
    assert [batch.node for batch in batches] == [0, 0, 1]
    assert [batch.done for batch in batches] == pytest.approx([0.103, 0.203, 0.303])


def test_what_comes_to_a_node_while_its_first_write_runs_shares_the_commit() -> None:
    batches = list(batched([at(0.1, 0.1005, 0.1015)], 0.002))
    assert sizes_of(batches) == [2, 1]
    assert batches[0].done == pytest.approx(0.1 + 2 * 0.001 + 0.002)
    assert batches[1].began == pytest.approx(batches[0].done), "the third waited for its turn"


def test_the_turn_is_held_by_one_node_at_a_time_and_a_batch_has_a_most() -> None:
    batches = list(batched([at(*[0.1] * 100), at(*[0.1] * 100)], 0.002))
    assert sizes_of(batches) == [MOST_BODIES, MOST_BODIES, 40, 40]
    for sooner, later in itertools.pairwise(batches):
        assert later.began >= sooner.done


def test_marks_of_a_batch_hold_the_turn_once_and_are_no_more_than_one_write() -> None:
    marks = [write._replace(is_together=True) for write in at(*[0.1] * 100)]
    [batch] = batched([marks], 0.002)
    assert len(batch.dues) == 100
    assert batch.done == pytest.approx(0.1 + 0.001 + 0.002)
    posts = at(*[0.1] * 100)
    both = [one for pair in zip(posts, marks, strict=True) for one in pair]
    first, second, *_ = batched([both], 0.002)
    assert first.done - first.began == pytest.approx(MOST_BODIES * 0.001 + 0.002)
    assert len(first.dues) == (MOST_BODIES - 1) + (MOST_BODIES - 1), "each post with the mark behind it"
    assert second.began == first.done


def test_a_commit_has_every_node_read_once() -> None:
    kinds = {POST: Kind(2.0, turn=0.0001, is_logged=True)}
    outcome = simulated(kinds, nodes=4)
    assert outcome.wake_ups == pytest.approx(4 * outcome.commits)
    polls = outcome.reads - 4 * outcome.commits
    assert 0 < polls < 4, "a node that was not woken for a second looks by itself"


def test_wake_ups_that_come_while_a_node_reads_are_one_read_more() -> None:
    kinds = {POST: Kind(400.0, turn=0.0001, is_logged=True)}
    outcome = simulated(kinds, nodes=4, costs=replace(COSTS, read=0.01))
    assert 4 * 80 < outcome.reads < 4 * 101, "one after the other, a hundred a second at each node"
    assert outcome.reads < outcome.wake_ups


def test_what_is_not_logged_commits_and_wakes_nobody() -> None:
    outcome = simulated({READ_MARK: Kind(50.0, turn=0.0001, event_bytes=300, rooms=[Room(1.5, 1)])})
    assert outcome.commits > 40
    assert outcome.wake_ups == 0
    assert outcome.reads == 2, "of two nodes, a second"
    assert outcome.deliveries == {READ_MARK: 75}
    assert outcome.bytes == 75 * 300


def test_an_event_goes_to_those_who_listen_in_its_room_alone() -> None:
    rooms = [Room(2, 0.75), Room(1000, 0.25)]
    outcome = simulated({POST: Kind(10.0, turn=0.0001, event_bytes=500, is_logged=True, rooms=rooms)})
    assert outcome.deliveries[POST] == 10 * (0.75 * 2 + 0.25 * 1000)
    assert outcome.bytes == outcome.deliveries[POST] * 500


def test_more_than_the_turn_can_take_is_behind_and_said_to_be() -> None:
    outcome = simulated({POST: Kind(2000.0, turn=0.001, is_logged=True)})
    assert outcome.turn > 2
    assert outcome.behind > 0.4
    assert outcome.writes < 1000
    calm = simulated({POST: Kind(20.0, turn=0.001, is_logged=True)})
    assert calm.behind < 0.01
    assert calm.turn == pytest.approx(20 * 0.003, rel=0.15)


def test_companies_stand_beside_each_other_in_one_table() -> None:
    measured = Measured(COSTS, {kind: Kind(0.0, 0.001, 400, kind == POST) for kind in DAY})
    report = told([1000, 100_000], measured)
    assert list(report.rows["streams"].items()) == [
        ("1,000", 600),
        ("100,000", 60_000),
    ]
    assert list(report.rows["nodes"].values()) == [2, 20]
    largest = max(room.listening for room in installation_of(1000, measured).kinds[POST].rooms)
    assert largest == 600, "nobody is in a room who is not there"
