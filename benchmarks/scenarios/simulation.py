"""The simulation held to real servers: what it says that nodes on one PostgreSQL do, and what they did.

First two servers are measured, one kind of request at a time: "turn" is how long a write holds the turn to
write, from a flood of them, "node" and "database" the processor time that one takes there, "bytes" its event
on the wire.  Then the company of the scenario ``company`` works on two and on four servers, a tenth and a
third as fast, for nothing may be at its limit.  Each of these rows has what the simulation
(`benchmarks.simulation`) says of a second, from the rates, the rooms and the costs; what was counted; and
their ratio.  Commits and reads of the log are as the servers count them, deliveries (of posts) and bytes as
the streams got them.  Wanted: ratios within a fifth of 1.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import trio

from benchmarks.chat import Chat
from benchmarks.company import DAY, POST, REACTION, READ_MARK, Asked, Company, planned, rates
from benchmarks.indexing import until_heard
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle
from benchmarks.server import Server, running
from benchmarks.simulation import Costs, Installation, Kind, Measured, Outcome, Room, simulate
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from benchmarks.working import DATABASE, WARM_UP, Work, chance, founded, serving

SLOWER = (10.0, 3.0)
MEASURED_ON = 2
LOGGED, WRITING = (POST, REACTION), (POST, REACTION, READ_MARK)

_TOKEN = "benchmarks-read-this"  # of a server that lives as long as the scenario
_METRICS: dict[str, dict[str, Any]] = {
    "plugins": {"metrics": {"token": _TOKEN}},
    "search": {"perMinute": 1_000_000},
}
_NO_SEARCH = {"search": {"enabled": False}}
_ENOUGH = 4000.0  # requests a second that are made ready for a flood
_PACE = 20.0  # posts a second to the largest room
_READ = "select seq, type, payload, audience from events where seq > %s order by seq limit 1000"


class Counted(NamedTuple):
    """What servers have counted since they began, all together."""

    writes: float
    commits: float
    commit_seconds: float
    reads: float


class Used(NamedTuple):
    """What a piece of work took: requests, told streams, seconds, processor time here and there, bytes."""

    requests: int
    told: int
    seconds: float
    first: float
    others: float
    database: float
    bytes: int
    counted: Counted


def run(sizes: Sizes) -> Report:
    """Measure, then compare."""
    report = Report(
        f"The simulation: {sizes.users:,} users, {sizes.channels:,} channels,"
        f" {sizes.connected:,} streams of scope=joined, PostgreSQL"
    )
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack, Loop() as loop:
        for place in places(stack, Path(directory), report, "simulation"):
            if place.storage:
                _hold(report, loop, place, sizes)
    report.notes.append(f"Load average at the end: {os.getloadavg()[0]:.1f}.")
    return report


def _hold(report: Report, loop: Loop, place: Place, sizes: Sizes) -> None:
    company, each = _memory_of_memberships(loop, place, sizes)
    measured = _measured(loop, place, company, each, sizes)
    report.notes.append(f"Costs, in seconds and bytes: {asdict(measured.costs)}.")
    for name, kind in measured.kinds.items():
        report.rows[f"measured: {name}"] = {
            "turn ms": round(1000 * kind.turn, 3),
            "node ms": round(1000 * kind.node, 3),
            "database ms": round(1000 * kind.database, 3),
            "bytes": round(kind.event_bytes),
        }
    for count in sizes.servers:
        for slower in SLOWER:
            times = sizes.times_real / slower
            for what, row in _compared(loop, place, company, measured, count, times, sizes).items():
                report.rows[f"{count} servers, {times:.3g} times: {what}"] = row


def _memory_of_memberships(loop: Loop, place: Place, sizes: Sizes) -> tuple[Company, float]:
    """Return a company, and the bytes that a server holds for each membership."""
    taken: list[int] = []
    company: Company | None = None
    for is_founded in (False, True):
        if is_founded:
            company = founded(loop, place, sizes)
        with running(place.directory, storage=place.storage, sections=_NO_SEARCH) as server:
            Chat(loop, server)
            taken.append(server.memory())
    assert company is not None
    return company, max(0.0, (taken[1] - taken[0]) / sizes.memberships)


def _measured(loop: Loop, place: Place, company: Company, each: float, sizes: Sizes) -> Measured:
    """Measure two servers."""
    with serving(place, MEASURED_ON, _METRICS) as servers:
        empty = sum(server.memory() for server in servers)
        with Work(loop, place, servers, company) as work:
            loop.pause(sizes.settle)
            a_stream = (sum(server.memory() for server in servers) - empty) / len(company.people)
            meter = _Meter(loop, place, work, company, servers, sizes)
            direct = meter.flood(POST, is_direct=True)
            wide = meter.wide()
            used = {kind: direct if kind == POST else meter.flood(kind) for kind in DAY}
            follow = max(0.0, direct.others / direct.requests)
            post = direct.first / direct.requests
            delivery = max(0.0, wide.first + wide.others - wide.requests * (post + follow)) / wide.told
            commit = direct.counted.commit_seconds / direct.counted.commits
            read, read_database = _reading(place, sizes)
    kinds = {
        kind: Kind(
            0.0,
            turn=max(0.0, one.seconds - one.counted.commit_seconds) / one.counted.writes
            if kind in WRITING
            else 0.0,
            event_bytes=(wide.bytes / wide.told if kind == POST else one.bytes / one.told)
            if kind in WRITING
            else 0.0,
            is_logged=kind in LOGGED,
            is_together=kind == READ_MARK,
            node=max(0.0, one.first - one.told / MEASURED_ON * delivery) / one.requests,
            database=max(0.0, one.database) / one.requests,
        )
        for kind, one in used.items()
    }
    costs = Costs(
        commit,
        read,
        read_database,
        follow,
        delivery,
        membership_bytes=each,
        stream_bytes=a_stream,
        idle_commits=meter.idle_commits,
    )
    return Measured(costs, kinds)


class _Meter:
    """Has one kind of request asked, and says what that took."""

    def __init__(
        self,
        loop: Loop,
        place: Place,
        work: Work,
        company: Company,
        servers: Sequence[Server],
        sizes: Sizes,
    ) -> None:
        self._loop = loop
        self._place = place
        self._work = work
        self._company = company
        self._servers = servers
        self._sizes = sizes
        before, counted = work.processor(), _counted(servers)
        loop.pause(sizes.seconds)
        commits = _since(counted, _counted(servers)).commits
        self.idle_commits = commits / sizes.seconds / len(servers)
        self._idle = {name: (now - before[name]) / sizes.seconds for name, now in work.processor().items()}

    def flood(self, kind: str, *, is_direct: bool = False) -> Used:
        """Ask as fast as answers come; with `is_direct` in direct conversations alone.

        What was posted before is in the index of the search by then: a search looks through the rest itself.
        """
        trio.run(until_heard, self._place)
        all_asked = planned(self._company, {kind: _ENOUGH}, self._sizes.seconds, chance())
        asked = [
            one
            for one in all_asked
            if self._work.is_at_first(one) and (not is_direct or one.path.startswith("/conversations/"))
        ]
        return self._used(
            asked, lambda: self._work.flood(asked, self._sizes.seconds, self._sizes.connections)
        )

    def wide(self) -> Used:
        """Post to the room that most listen to, at a pace."""
        largest = max(self._company.listening, key=lambda room: self._company.listening[room])
        everywhere = planned(self._company, {POST: _ENOUGH}, 20.0, chance())
        asked = [one for one in everywhere if one.room == largest and self._work.is_at_first(one)]
        asked = asked[: self._sizes.posts]
        return self._used(asked, lambda: self._work.pace(asked, _PACE))

    def _used(self, asked: Sequence[Asked], ask: Callable[[], tuple[int, float]]) -> Used:
        first, *others = self._work.servers
        before, counted, received = self._work.processor(), _counted(self._servers), self._work.received
        began = time.perf_counter()
        requests, seconds = ask()
        self._loop.pause(0.5)  # What hangs on the last ones comes to its end.
        elapsed, now = time.perf_counter() - began, self._work.processor()
        taken = {name: now[name] - before[name] - self._idle[name] * elapsed for name in now}
        made = [asked[number % len(asked)] for number in range(requests)]
        return Used(
            requests,
            _told(made, self._company),
            seconds,
            taken[first],
            sum(taken[name] for name in others),
            taken[DATABASE],
            self._work.received - received,
            _since(counted, _counted(self._servers)),
        )


def _told(asked: Sequence[Asked], company: Company) -> int:
    """Return how many streams are told of what was asked, one of each read mark; 1 of nothing."""
    logged = sum(company.listening[one.room] for one in asked if one.kind in LOGGED)
    return max(1, logged + sum(one.kind == READ_MARK for one in asked))


def _compared(
    loop: Loop, place: Place, company: Company, measured: Measured, count: int, times: float, sizes: Sizes
) -> dict[str, Row]:
    """Have the company work, and tell what was predicted and what was counted."""
    seconds = sizes.working / 2
    asked = planned(company, rates(sizes.users, times), seconds, chance())
    with serving(place, count, _METRICS) as servers, Work(loop, place, servers, company) as work:
        found = work.do(asked, seconds, lambda: _counted(servers))
    after = [one for one in asked if one.due >= WARM_UP * seconds]
    outcome = _predicted(after, company, measured, count, found.seconds, sizes)
    counted = _since(*found.looks)
    told = {
        "commits": (outcome.commits, counted.commits / found.seconds),
        "reads of the log": (outcome.reads, counted.reads / found.seconds),
        "deliveries": (outcome.deliveries[POST], len(found.deliveries) / found.seconds),
        "bytes": (outcome.bytes, found.received / found.seconds),
    }
    return {
        what: {
            "predicted": round(said, 1),
            "counted": round(seen, 1),
            "ratio": round(seen / said, 2) if said else 0.0,
            "missing or twice": found.missing_or_twice,
        }
        for what, (said, seen) in told.items()
    }


def _predicted(
    asked: Sequence[Asked], company: Company, measured: Measured, nodes: int, seconds: float, sizes: Sizes
) -> Outcome:
    """Simulate the rates and the rooms of what is asked."""
    rooms = {READ_MARK: [Room(1, 1)]}
    for kind in LOGGED:
        told = Counter(company.listening[one.room] for one in asked if one.kind == kind)
        rooms[kind] = [Room(listening, count / told.total()) for listening, count in told.items()]
    kinds = Counter(one.kind for one in asked)
    asking = measured.asked({kind: kinds[kind] / seconds for kind in DAY}, rooms)
    installation = Installation(nodes, len(company.people), sizes.memberships, asking)
    return simulate(installation, measured.costs, seconds=seconds, chance=chance())


def _counted(servers: Sequence[Server]) -> Counted:
    pages = [_metrics(server) for server in servers]
    names = ("writes_total", "commit_seconds_count", "commit_seconds_sum", "log_reads_total")
    return Counted(*(sum(page[f"teamchat_{name}"] for page in pages) for name in names))


def _metrics(server: Server) -> dict[str, float]:
    """Return the values that have no labels."""
    with closing(HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {_TOKEN}"})
        text = connection.getresponse().read().decode()
    lines = [line.split() for line in text.splitlines() if line.startswith("teamchat_") and "{" not in line]
    return {name: float(value) for name, value, *_ in lines}


def _since(before: Counted, now: Counted) -> Counted:
    return Counted(*(one - other for one, other in zip(now, before, strict=True)))


def _reading(place: Place, sizes: Sizes) -> tuple[float, float]:
    """Return how long a read of the log takes that finds little, and what processor time of the database."""
    times: list[float] = []
    with psycopg.connect(place.storage["url"]) as connection:
        [(last,)] = connection.execute("select last from teamchat_log_end").fetchall()
        connection.commit()
        cpu = place.processor_seconds()
        for _ in range(sizes.samples):
            began = time.perf_counter()
            connection.execute(_READ, (last - 1,)).fetchall()
            connection.commit()
            times.append(time.perf_counter() - began)
        return middle(times), (place.processor_seconds() - cpu) / sizes.samples
