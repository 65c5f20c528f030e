"""What a large team costs, on both storages: thousands of people, hundreds of channels, most of them private.

Each row is one thing that is asked for over and over, one at a time: "median ms" and "p99 ms" are its
answer's, "CPU ms" is the processor time that the server takes for it and for what hangs on it (a commit,
deliveries), the median of some batches; PostgreSQL's own is not in it.  "MiB" is the server's resident
memory, "KiB" what one stream adds to it.  Posts go to members with streams: to the channel of everybody with
some hundreds of them, to the room of ten with nine, while 10 or many more streams of other people are open,
told of all that these see or (``scope=joined``) of their rooms alone; these are measured in turns, without
the processor time that streams take while nobody posts.
Wanted: however many are open elsewhere, a post to the room of ten takes the same processor time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import trio

from benchmarks.asking import Asker
from benchmarks.chat import MOST_USERS, Chat
from benchmarks.client import request
from benchmarks.counting import marked
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians, middle, ms, percentile
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from benchmarks.streams import Streams
from benchmarks.team import IN_SMALL, Team, fill

KIB, MIB = 1024, 1024 * 1024
FEW = 10
_BATCHES = 10
_IDLE_SETTLES = 5
_SIZE = 60  # characters in a post


def run(sizes: Sizes) -> Report:
    """Measure each storage by itself."""
    report = Report(
        f"Scale: {sizes.users:,} users, {sizes.channels:,} channels, {sizes.memberships:,} memberships"
    )
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        for place in places(stack, Path(directory), report, "scale"):
            for what, row in _measured(place, sizes).items():
                report.rows[f"{place.name}: {what}"] = row
    return report


def _measured(place: Place, sizes: Sizes) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    with Loop() as loop:
        with running(place.directory, storage=place.storage) as server:  # It makes its database.
            admin_id = Chat(loop, server).user_id
        rows["start, nobody there"] = _start(place)
        team = trio.run(_fill, place, admin_id, sizes)
        rows["start"] = _start(place)
        with running(place.directory, storage=place.storage) as server:
            scale = _Scale(loop, server, Chat(loop, server), team, sizes)
            rows |= scale.reads()
            rows |= scale.with_everybody()
            rows |= scale.with_streams_elsewhere()
    return rows


async def _fill(place: Place, admin_id: str, sizes: Sizes) -> Team:
    return await fill(
        place.opened(),
        admin_id,
        users=sizes.users,
        channels=sizes.channels,
        memberships=sizes.memberships,
    )


def _start(place: Place) -> Row:
    """Start a server, and end it: how long that takes, all of Python included, and how large it is then."""
    began = time.perf_counter()
    with running(place.directory, storage=place.storage) as server:
        return {
            "median ms": ms(time.perf_counter() - began),
            "CPU ms": ms(server.processor_seconds()),
            "MiB": round(server.memory() / MIB, 1),
        }


class _Scale:
    """What is measured at one server."""

    def __init__(self, loop: Loop, server: Server, chat: Chat, team: Team, sizes: Sizes) -> None:
        self._loop = loop
        self._server = server
        self._chat = chat
        self._team = team
        self._sizes = sizes
        self._people = min(sizes.users, MOST_USERS)
        chat.sign_in(self._people)

    def reads(self) -> dict[str, Row]:
        """Read what a client reads first, as one of the people."""
        token = self._chat.token_of(self._people - 1)
        paths = ("/me", "/channels", "/channels?joined=true")
        return {
            f"GET {path}": self._row(lambda _, path=path: request("GET", path, token))  # type: ignore[misc]
            for path in paths
        }

    def with_everybody(self) -> dict[str, Row]:
        """Open streams of people, one at a time; post to all of them, and let others in."""
        rows: dict[str, Row] = {}
        count = self._sizes.listeners
        before, cpu = self._server.memory(), self._server.processor_seconds()
        with self._listening(0, self._people, count, at_once=1) as streams:
            cpu = self._server.processor_seconds() - cpu
            self._loop.pause(self._sizes.settle)
            rows["opening a stream"] = {
                "median ms": ms(streams.opening_seconds / count),
                "CPU ms": ms(cpu / count),
                "KiB": round((self._server.memory() - before) / KIB / count, 1),
            }
            posts = self._row(self._post_to(self._team.large))
            rows[f"a post to {self._sizes.users:,}, of whom {self._people:,} listen"] = posts
            rows[f"adding {self._sizes.joining} people"] = self._row(self._adding, len(self._team.growing))
        return rows

    def with_streams_elsewhere(self) -> dict[str, Row]:
        """Post to the room of ten, beside streams of people who are not in it; in turns, for loads change."""
        found: dict[str, list[Row]] = {}
        many = max(self._sizes.streams)
        elsewhere = (("", FEW), ("", many), ("?scope=joined", FEW), ("?scope=joined", many))
        with self._listening(0, IN_SMALL - 1, IN_SMALL - 1):
            for query, count in elsewhere * self._sizes.rounds:
                with self._listening(IN_SMALL, self._people, count, query):
                    self._loop.pause(self._sizes.settle)
                    which = f"{count:,} streams{query and ' of scope=joined'}"
                    row = self._row(self._post_to(self._team.small), idle=self._idle())
                    found.setdefault(f"a post to ten, {which} elsewhere", []).append(row)
                self._loop.pause(self._sizes.settle)
        return {what: medians(rows) for what, rows in found.items()}

    @contextmanager
    def _listening(
        self, first: int, end: int, count: int, query: str = "", *, at_once: int = 100
    ) -> Iterator[Streams]:
        """Open so many streams of the people from `first` to before `end`."""
        tokens = [self._chat.token_of(number) for number in range(first, end)]
        paths = [request("GET", f"/events{query}", tokens[number % len(tokens)]) for number in range(count)]
        with Streams(self._loop, self._chat.port) as streams:
            yield streams.open(paths, at_once=at_once)

    def _post_to(self, room: str) -> Callable[[int], bytes]:
        path = f"/channels/{room}/messages"
        return lambda number: self._chat.post_to(path, {"content": marked(number, _SIZE)})

    def _adding(self, number: int) -> bytes:
        added = self._team.users[-self._sizes.joining :]
        path = f"/channels/{self._team.growing[number]}/members"
        return self._chat.post_to(path, {"userIds": added})

    def _idle(self) -> float:
        """Return what part of a processor the server takes while nobody posts: for its streams."""
        began, before = time.perf_counter(), self._server.processor_seconds()
        self._loop.pause(_IDLE_SETTLES * self._sizes.settle)
        return (self._server.processor_seconds() - before) / (time.perf_counter() - began)

    def _row(self, make: Callable[[int], bytes], times: int | None = None, *, idle: float = 0.0) -> Row:
        """Ask one thing after another in batches, the first of which warms up.

        What the server would have taken meanwhile anyway, `idle` seconds a second, is taken off.
        """
        batch = 1 if times else max(2, self._sizes.posts // _BATCHES)
        cpu: list[float] = []
        with Asker(self._loop, self._chat.port, make, connections=1) as asker:
            for _ in range(times or _BATCHES + 1):
                began, before = time.perf_counter(), self._server.processor_seconds()
                for _ in range(batch):
                    asker.paced(1.0, 1)
                self._loop.pause(0.02)  # What hangs on the last one comes to its end.
                taken = self._server.processor_seconds() - before
                cpu.append((taken - idle * (time.perf_counter() - began)) / batch)
            answers = asker.times(batch)
        return {
            "median ms": ms(middle(answers)),
            "p99 ms": ms(percentile(answers, 0.99)),
            "CPU ms": ms(middle(cpu[1:])),
        }
