"""What an installation has to do for its people: a simulation without a server, of nodes on one PostgreSQL.

Nodes, streams, rooms and rates go in (`Installation`), with what one request, one event and one delivery cost
(`Costs`); commits, wake-ups, reads of the log, deliveries and bytes come out (`Outcome`).  The scenario
``simulation`` measures the costs, and holds the outcome to what two and four real servers do.

Writes come by chance at any node, and are gone through one by one under the rules of the server:

* Batches take turns across all nodes.  A batch holds the burst that came to its node until the first of them
  was through, and is one commit; each write of it holds the turn for a while, and so does the commit.  Read
  marks of a batch are one write (docs/explanation/unread-counts.md#marks-that-come-together).
* A commit that logged something wakes all nodes.  A node that is woken reads what is new, and one that is
  woken while it reads, reads once more afterwards, however many commits there were meanwhile.  One that has
  not been woken for a second reads as well.
* What is logged goes to the streams of those who are in its room alone (``scope=joined``).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.company import POST, REACTION, READ_MARK, moments, rates
from benchmarks.report import Report

MOST_BODIES = 60
"""How many writes a batch holds at most (`teamchat_storage_postgres.batch`)."""
POLL_SECONDS = 1.0
"""After how long without being woken a node reads the log by itself (`teamchat_storage_postgres.storage`)."""


SIZES_OF_ROOMS = ((2, 0.5), (10, 0.3), (100, 0.15), (1000, 0.04), (10_000, 0.009), (0, 0.001))
"""Members of a room, 0 for everybody, and what share of posts and reactions is in such rooms: assumed."""
CONNECTED, STREAMS_EACH = 0.4, 1.5
"""What share of the users is connected in the busiest hour, and with how many streams each."""
BUSIEST_SECONDS = 3.0
"""How many times the mean of its hour the busiest seconds have."""
MEMBERSHIPS_EACH = 20
STREAMS_OF_A_NODE = 3000


class Room(NamedTuple):
    """Rooms of one size: how many streams of their members are open, and their share of what is told."""

    listening: float
    share: float


class Kind(NamedTuple):
    """One kind of request: how many a second come to all nodes, and what becomes of one.

    `turn` is how many seconds of the turn to write it takes, 0 for what writes nothing; of what is written
    together, all that there is of it in a batch.  What is logged wakes all nodes.  `rooms` are those in which
    streams are told of it, `node` and `database` processor seconds.
    """

    a_second: float
    turn: float = 0.0
    event_bytes: float = 0.0
    is_logged: bool = False
    rooms: Sequence[Room] = ()
    node: float = 0.0
    database: float = 0.0
    is_together: bool = False


@dataclass(frozen=True)
class Costs:
    """What was measured of one commit, one read of the log, one delivery; seconds, but for `*_bytes`."""

    commit: float
    read: float
    read_database: float
    follow: float
    """Processor time of a node for an event that another one wrote."""
    delivery: float
    membership_bytes: float
    stream_bytes: float
    idle_commits: float = 0.0
    """How many commits a second a node makes while nobody asks anything."""


@dataclass(frozen=True)
class Installation:
    """What there is: nodes, open streams, memberships, and what is asked in which rooms."""

    nodes: int
    streams: float
    memberships: float
    kinds: Mapping[str, Kind]


@dataclass(frozen=True)
class Outcome:
    """What happens in a second, at all nodes together, and how much of what there is that takes."""

    writes: float
    commits: float
    wake_ups: float
    reads: float
    deliveries: Mapping[str, float]
    """By kind of request."""
    bytes: float
    turn: float
    """For what share of the time somebody holds the turn to write; above 1, it would have to."""
    waited: float
    """How many seconds a write waits for its turn and its commit, the median."""
    behind: float
    """How many of the writes are still waiting when the last has come."""
    node_processor: float
    database_processor: float
    node_memory: float
    """Bytes that a node holds for memberships and for its streams."""


class Write(NamedTuple):
    """A write at a node: its moment, how long it holds the turn, and whether it logs an event.

    Those that are `is_together` hold the turn once for all that a batch has of them.
    """

    due: float
    turn: float
    is_logged: bool
    is_together: bool = False


class Batch(NamedTuple):
    """A commit: when it was done, by which node, for how many writes, and whether it wakes anybody."""

    done: float
    node: int
    began: float
    dues: Sequence[float]
    is_logged: bool


def simulate(
    installation: Installation, costs: Costs, *, seconds: float = 10.0, chance: random.Random
) -> Outcome:
    """Let so many seconds pass."""
    written = _writes(installation, seconds, chance)
    batches = list(batched(written, costs.commit))
    within = [batch for batch in batches if batch.done <= seconds]
    waking = [batch for batch in within if batch.is_logged]
    reads = installation.nodes * _reads(waking, costs.read, seconds)
    waits = sorted(batch.done - due for batch in batches for due in batch.dues)
    done = sum(len(batch.dues) for batch in within)
    told, size = _told(installation)
    kinds = installation.kinds.values()
    logged = sum(kind.a_second for kind in kinds if kind.is_logged)
    node = sum(kind.a_second * kind.node for kind in kinds) + sum(told.values()) * costs.delivery
    reads_a_second = reads / seconds
    return Outcome(
        writes=done / seconds,
        commits=len(within) / seconds + installation.nodes * costs.idle_commits,
        wake_ups=len(waking) * installation.nodes / seconds,
        reads=reads_a_second,
        deliveries=told,
        bytes=size,
        turn=_turn(installation, costs, batches, seconds),
        waited=waits[len(waits) // 2] if waits else 0.0,
        behind=1 - done / len(waits) if waits else 0.0,
        node_processor=node / installation.nodes
        + logged * costs.follow * (installation.nodes - 1) / installation.nodes,
        database_processor=sum(kind.a_second * kind.database for kind in kinds)
        + reads_a_second * costs.read_database,
        node_memory=installation.memberships * costs.membership_bytes
        + installation.streams / installation.nodes * costs.stream_bytes,
    )


def batched(written: Sequence[Sequence[Write]], commit: float) -> Iterable[Batch]:
    """Yield the commits of what was written at each node, in order; each batch takes its turn."""
    at, ended, free = [0] * len(written), [0.0] * len(written), 0.0
    while True:
        waiting = [node for node, own in enumerate(written) if at[node] < len(own)]
        if not waiting:
            return
        node = min(waiting, key=lambda one: max(written[one][at[one]].due, ended[one]))
        own, first = written[node], at[node]
        began = max(free, own[first].due)
        bodies = _bodies(own, first, began + own[first].turn)
        end = first + len(bodies)
        batch = own[first:end]
        free = began + sum(bodies) + commit
        at[node], ended[node] = end, free
        yield Batch(free, node, began, [one.due for one in batch], any(one.is_logged for one in batch))


def _bodies(own: Sequence[Write], first: int, joined: float) -> list[float]:
    """Return how long each write of a batch holds the turn: those that have come until `joined`."""
    turns: list[float] = []
    count, is_there = 0, False
    for one in itertools.islice(own, first, None):
        is_more = one.is_together and is_there
        if turns and (one.due > joined or (count == MOST_BODIES and not is_more)):
            break
        turns.append(0.0 if is_more else one.turn)
        count += not is_more
        is_there |= one.is_together
    return turns


def _writes(installation: Installation, seconds: float, chance: random.Random) -> list[list[Write]]:
    written: list[list[Write]] = [[] for _ in range(installation.nodes)]
    for kind in installation.kinds.values():
        if kind.turn and kind.a_second:
            for due in moments(kind.a_second, seconds, chance):
                write = Write(due, kind.turn, kind.is_logged, kind.is_together)
                written[chance.randrange(installation.nodes)].append(write)
    for own in written:
        own.sort()
    return written


def _reads(waking: Iterable[Batch], read: float, seconds: float) -> int:
    """Return how often each node reads the log in so many seconds, where that takes it `read` seconds."""
    reads, busy_until, again = 0, 0.0, False
    for batch in waking:
        if again and busy_until <= batch.done:
            reads, busy_until, again = reads + 1, busy_until + read, False
        if busy_until <= batch.done:
            reads += 1 + int((batch.done - busy_until) / POLL_SECONDS)
            busy_until = batch.done + read
        else:
            again = True
    return reads + again + int(max(0.0, seconds - busy_until) / POLL_SECONDS)


def _turn(installation: Installation, costs: Costs, batches: Sequence[Batch], seconds: float) -> float:
    """Return what share of the time the turn is held, or has to be with full batches where that is more."""
    held = sum(min(batch.done, seconds) - batch.began for batch in batches if batch.began < seconds)
    least = sum(
        kind.a_second * (kind.turn + costs.commit / MOST_BODIES)
        for kind in installation.kinds.values()
        if kind.turn and not kind.is_together
    )
    return max(held / seconds, least)


def _told(installation: Installation) -> tuple[dict[str, float], float]:
    """Return the deliveries of a second, and their bytes."""
    told = {
        name: kind.a_second * sum(room.listening * room.share for room in kind.rooms)
        for name, kind in installation.kinds.items()
    }
    return told, sum(count * installation.kinds[name].event_bytes for name, count in told.items())


class Measured(NamedTuple):
    """What the scenario ``simulation`` has measured: the costs, and of each kind of request its own."""

    costs: Costs
    kinds: Mapping[str, Kind]

    def asked(self, a_second: Mapping[str, float], rooms: Mapping[str, Sequence[Room]]) -> dict[str, Kind]:
        """Return the kinds at these rates, in these rooms."""
        return {
            name: self.kinds[name]._replace(a_second=rate, rooms=rooms.get(name, ()))
            for name, rate in a_second.items()
        }


def installation_of(users: int, measured: Measured, nodes: int = 0) -> Installation:
    """Return what a company of so many has in its busiest seconds; on as many nodes as its streams want."""
    streams = users * CONNECTED * STREAMS_EACH
    rooms = [
        Room(min(members or users, users) * CONNECTED * STREAMS_EACH, share)
        for members, share in SIZES_OF_ROOMS
    ]
    kinds = measured.asked(
        rates(users, BUSIEST_SECONDS), {POST: rooms, REACTION: rooms, READ_MARK: [Room(STREAMS_EACH, 1)]}
    )
    wanted = nodes or max(2, -int(-streams // STREAMS_OF_A_NODE))
    return Installation(wanted, streams, users * MEMBERSHIPS_EACH, kinds)


MEASURED = Measured(
    Costs(
        commit=0.00123,
        read=0.000174,
        read_database=6.5e-05,
        follow=4.09e-05,
        delivery=8.44e-06,
        membership_bytes=488,
        stream_bytes=7984,
    ),
    {
        "a post": Kind(0.0, 0.000393, 343, is_logged=True, node=0.00033, database=0.000107),
        "a page": Kind(0.0, node=0.000344, database=0.000146),
        "a reaction": Kind(0.0, 0.000917, 158, is_logged=True, node=0.000315, database=0.000126),
        "a read mark": Kind(0.0, 0.00242, 347, node=0.00032, database=0.000227, is_together=True),
        "a search": Kind(0.0, node=0.00154, database=0.0186),
    },
)
"""What the scenario has measured on a quiet machine (docs/explanation/how-far-it-goes.md): two servers, each
with half of two processors.  The turn of a read mark is that of all marks of a batch.
"""


def told(companies: Sequence[int], measured: Measured | None = None) -> Report:
    """Return what companies of so many users need in their busiest seconds, a column for each."""
    report = Report("Companies in their busiest seconds, all streams of scope=joined")
    for users in companies:
        installation = installation_of(users, measured or MEASURED)
        outcome = simulate(installation, (measured or MEASURED).costs, chance=random.Random(users))
        for what, value in _figures(installation, outcome).items():
            report.rows.setdefault(what, {})[f"{users:,}"] = value
    return report


def _figures(installation: Installation, outcome: Outcome) -> dict[str, float]:
    nodes, kinds = installation.nodes, installation.kinds.values()
    told_of = sum(outcome.deliveries.values())
    return {
        "nodes": nodes,
        "streams": round(installation.streams),
        "requests/s": round(sum(kind.a_second for kind in kinds)),
        "writes/s in the turn, asked for": round(sum(kind.a_second for kind in kinds if kind.turn)),
        "writes/s in the turn, done": round(outcome.writes),
        "the turn, share of the time": round(outcome.turn, 2),
        "a write waits, ms": round(1000 * outcome.waited, 1),
        "commits/s": round(outcome.commits),
        "wake-ups/s": round(outcome.wake_ups),
        "reads of the log/s": round(outcome.reads),
        "the database, processors": round(outcome.database_processor, 1),
        "deliveries/s": round(told_of),
        "deliveries/s of a node": round(told_of / nodes),
        "MB/s out": round(outcome.bytes / 1e6, 1),
        "MB/s out of a node": round(outcome.bytes / 1e6 / nodes, 2),
        "a node, processors": round(outcome.node_processor, 2),
        "a node, GiB for memberships and streams": round(outcome.node_memory / 2**30, 2),
    }
