"""A company at work: 5,000 people, 500 channels, 100,000 memberships, ten times a real rate, both storages.

`benchmarks.company` says what a real rate is assumed to be, and where that is from.  1,500 of the people are
connected, each with a stream of ``scope=joined`` that asks for its read marks, and have direct conversations.
SQLite has one server; PostgreSQL two, and each person is at one of them.  The load is made by this process.
Every request has its moment before anything begins, and its time runs from that moment: a stall counts for
all that should have come meanwhile.  The first tenth is warming up and is not told.

"an event at a stream" is each delivery of a post, timed from the moment the post was due; "at the last" is
that of each post which came last.  "missing or twice" compares what came with who is in each room.  "CPU %"
is the share of one processor that a server, the database or this process took meanwhile, "MiB" a server's
memory at the end.  "unanswered" are requests that had no answer a minute after the end; their times are until
then.  Wanted: a 99th percentile under 100 ms of everything, nothing refused, unanswered or missing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.company import DAY, planned, rates
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, ms, percentile
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from benchmarks.working import Found, Work, chance, founded, serving

SERVERS = {"sqlite": 1, "postgres": 2}

_MIB = 1024 * 1024


def run(sizes: Sizes) -> Report:
    """Have the company work on each storage by itself."""
    report = Report(
        f"A company: {sizes.users:,} users, {sizes.channels:,} channels, {sizes.memberships:,} memberships,"
        f" {sizes.connected:,} connected, {sizes.times_real:g} times a real rate"
    )
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        for place in places(stack, Path(directory), report, "company"):
            for what, row in _measured(place, sizes).items():
                report.rows[f"{place.name}: {what}"] = row
            report.notes.append(f"Load average at the end of {place.name}: {os.getloadavg()[0]:.1f}.")
    return report


def _measured(place: Place, sizes: Sizes) -> dict[str, Row]:
    with Loop() as loop:
        company = founded(loop, place, sizes)
        asked = planned(company, rates(sizes.users, sizes.times_real), sizes.working, chance())
        with (
            serving(place, SERVERS[place.name]) as servers,
            Work(loop, place, servers, company) as work,
        ):
            found = work.do(asked, sizes.working)
            memory = {name: server.memory() for name, server in work.servers.items()}
    rows = _told(found)
    for name, share in found.processor.items():
        rows[name] = {"CPU %": round(100 * share, 1)}
        if name in memory:
            rows[name]["MiB"] = round(memory[name] / _MIB, 1)
    return rows


def _told(found: Found) -> dict[str, Row]:
    rows = {
        kind: _row(found.times[kind], found.seconds)
        | {"refused": found.refusals.get(kind, 0), "unanswered": found.unanswered[kind]}
        for kind in DAY
    }
    wrong: Row = {"missing or twice": found.missing_or_twice}
    rows["an event at a stream"] = _row(found.deliveries, found.seconds) | wrong
    rows["an event at the last"] = _row(found.last, found.seconds)
    return rows


def _row(times: Sequence[float], seconds: float) -> Row:
    return {
        "a second": round(len(times) / seconds, 1),
        "p50 ms": ms(percentile(times, 0.5)),
        "p95 ms": ms(percentile(times, 0.95)),
        "p99 ms": ms(percentile(times, 0.99)),
    }
