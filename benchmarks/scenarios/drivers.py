"""The PostgreSQL driver of the storage plugin beside triopg, at the same work in the same run.

Both have a pool of as many connections to one PostgreSQL, which waits for its disk, and as many tasks that do
nothing else.  A page is a transaction of its own, repeatable read and read only, that reads 50 rows; a write
is one that inserts two.  "a commit each" compares drivers: no transaction shares its commit with another.
The last row is what the storage makes of it, whose writers do share commits, and which logs an event besides.
"CPU" is the processor time of the asking process for one transaction; what PostgreSQL takes is not in it.
Wanted of this plugin's driver: at least 4 times the rate of triopg where not the disk is what is waited for.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.report import Report, Row, medians
from benchmarks.sizes import Sizes
from benchmarks.yardsticks.drivers import CONNECTIONS, TASKS
from tests.postgres import DURABLE, Postgres

OURS, THEIRS, STORAGE = (
    "psycopg on Trio, a commit each",
    "triopg, a commit each",
    "the storage, shared commits",
)
WAYS = {OURS: "psycopg", THEIRS: "triopg", STORAGE: "storage"}
_ROWS = 10_000
_MAKE = f"""
create table bench_messages (id bigserial primary key, channel bigint, author text, content text);
create index on bench_messages (channel, id);
create table bench_notes (id bigserial primary key, note text);
insert into bench_messages (channel, author, content)
  select n % 20, md5(n::text), repeat(md5(n::text), 3) from generate_series(1, {_ROWS}) n;
analyze
"""


def run(sizes: Sizes) -> Report:
    """Let them take turns; tell medians, and ratios to triopg."""
    database = Postgres(settings=DURABLE)
    series: dict[str, list[Row]] = {name: [] for name in WAYS}
    try:
        database.run(_MAKE)
        for _ in range(sizes.rounds):
            for name, way in WAYS.items():
                series[name].append(_row(way, database.url(), sizes.seconds))
    finally:
        database.remove()
    report = Report(f"Drivers of PostgreSQL: {CONNECTIONS} connections, {TASKS} tasks")
    told = {name: medians(rows) for name, rows in series.items()}
    for name, row in told.items():
        report.rows[name] = dict(row)
        for what in ("pages/s", "writes/s"):
            report.rows[name][f"{what}, times triopg"] = _ratio(row, told[THEIRS], what)
    return report


def _row(way: str, url: str, seconds: float) -> Row:
    command = [sys.executable, "-m", "benchmarks.yardsticks.drivers", way, url, str(seconds)]
    row: Row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return row


def _ratio(row: Row, theirs: Row, what: str) -> float:
    return round(float(row[what]) / float(theirs[what]), 2)
