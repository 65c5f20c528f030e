"""Requests a second: pages, durable posts and an empty answer, on both HTTP servers, with both histories.

Four servers live at once, native and Hypercorn, with an empty history and with a long one, and only the
measured one is busy; rounds alternate, so that what else the machine does falls on all alike, and medians
are told.  A page is the newest 50 messages, asked for by someone signed in; a post is durable when it is
answered; ``/health`` does nothing.  "against hypercorn" and "against none", which is the same without a
history, are medians of the rounds' ratios.  The last row is what the load generator can ask of a program with
one prepared answer: a rate near it is the generator's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio

from benchmarks import capacity, history
from benchmarks.chat import SIZE, Chat
from benchmarks.client import request
from benchmarks.counting import marked
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.server import HYPERCORN, NATIVE, Server, running
from benchmarks.sizes import Sizes

GENERATOR = "the load generator alone"
HEALTH = "/health"
EMPTY = "no history"
WARM_UP = 50  # posts, and so the messages of a page


@dataclass
class Series:
    """One kind of request on one server: what each round gave."""

    rates: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    p99s: list[float] = field(default_factory=list)

    def against(self, other: Series) -> float:
        """Return the median ratio of the rates in the same round."""
        return round(middle([own / its for own, its in zip(self.rates, other.rates, strict=True)]), 2)

    def row(self) -> Row:
        """Return the medians."""
        return {
            "a second": round(middle(self.rates)),
            "median ms": ms(middle(self.medians)),
            "p99 ms": ms(middle(self.p99s)),
        }


def run(sizes: Sizes) -> Report:
    """Measure all servers in alternating rounds."""
    report = Report(f"Requests: {sizes.connections} connections")
    series: dict[tuple[str, str, str], Series] = {}
    with Loop() as loop, _servers(loop, sizes) as chats:
        for _ in range(sizes.rounds):
            for kind in (HEALTH, "pages", "posts"):
                for (past, http1), chat in chats.items():
                    if kind != HEALTH or past == EMPTY:
                        given = series.setdefault((kind, past, http1), Series())
                        _measure(given, chat, _messages(chat)[kind], sizes)
    for (kind, past, http1), given in series.items():
        row = report.rows[f"{kind}, {past}, {http1}"] = given.row()
        if http1 == NATIVE:
            row["against hypercorn"] = given.against(series[kind, past, HYPERCORN])
        if past != EMPTY:
            row["against none"] = given.against(series[kind, EMPTY, http1])
    report.rows[GENERATOR] = {"a second": round(capacity.requests(sizes.connections, sizes.seconds))}
    return report


@contextmanager
def _servers(loop: Loop, sizes: Sizes) -> Iterator[dict[tuple[str, str], Chat]]:
    """Run the four servers, each with data of its own."""
    chats: dict[tuple[str, str], Chat] = {}
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        prepared = Path(directory) / "prepared"
        prepared.mkdir()
        with running(prepared) as server:  # It makes its database, which can be filled while it is down.
            first = Chat(loop, server)
        for past, messages in ((EMPTY, 0), (f"{sizes.messages:,} messages", sizes.messages)):
            trio.run(history.fill, prepared, first.channel_id, first.user_id, messages)
            for http1 in (HYPERCORN, NATIVE):
                data = prepared.with_name(f"{past}, {http1}")
                shutil.copytree(prepared, data)
                chats[past, http1] = _begin(loop, stack.enter_context(running(data, http1=http1)))
        yield chats


def _begin(loop: Loop, server: Server) -> Chat:
    chat = Chat(loop, server)
    with chat.poster() as poster:
        poster.paced(1000, WARM_UP)
    return chat


def _messages(chat: Chat) -> dict[str, bytes]:
    return {
        HEALTH: request("GET", HEALTH),
        "pages": chat.get(chat.messages),
        "posts": chat.post(marked(0, SIZE)),
    }


def _measure(given: Series, chat: Chat, message: bytes, sizes: Sizes) -> None:
    with chat.asker(message, connections=sizes.connections) as asker:
        seconds = asker.flood(sizes.seconds)
        times = asker.times()
    given.rates.append(len(times) / seconds)
    given.medians.append(middle(times))
    given.p99s.append(percentile(times, 0.99))
