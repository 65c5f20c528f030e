"""Posts and read marks on PostgreSQL: how many a second, and the processor time of each on both sides.

One server and two (processes) on databases of one PostgreSQL, which waits for its disk, with few connections
that post as fast as they are answered and with eight times as many.  "here" is the processor time of the
servers for one post or mark, "at PostgreSQL" that of all its processes.  Where all share two cores, what a
post takes in all says how many there can be.  Wanted: 2,500 posts/s from one server with 16 connections,
5,000 with 128, and more from two servers than from one.

Marks are of many people in one channel, each of whom reads it and marks it by turns, from its end on: so each
changes something, and nothing is unread.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.asking import Asker
from benchmarks.chat import Chat
from benchmarks.client import request
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians
from benchmarks.server import Server, processor_seconds_of, running
from benchmarks.sizes import Sizes
from tests.postgres import DURABLE, Postgres

COUNTS = {1: "1 server", 2: "2 servers"}
WARM_UP = 20  # posts
READERS = 200
_END = "f" * 32


def run(sizes: Sizes) -> Report:
    """Have all take turns; tell medians."""
    found: dict[str, list[Row]] = {}
    database = Postgres(settings=DURABLE)
    try:
        with ExitStack() as stack:
            loop = stack.enter_context(Loop())
            chats = {count: _serve(stack, loop, database, count) for count in COUNTS}
            for _ in range(sizes.rounds):
                for connections in (sizes.connections, 8 * sizes.connections):
                    for count, (server, chat) in chats.items():
                        name = f"{COUNTS[count]}, {connections} connections"
                        row = _posts(server, chat, database, connections, sizes.seconds)
                        found.setdefault(f"posts, {name}", []).append(row)
                        row = _marks(server, chat, database, connections, sizes.seconds)
                        found.setdefault(f"read marks, {name}", []).append(row)
    finally:
        database.remove()
    report = Report("Writes on PostgreSQL: posts and read marks, and microseconds of processor time")
    report.rows = {name: medians(rows) for name, rows in found.items()}
    return report


def _serve(stack: ExitStack, loop: Loop, database: Postgres, count: int) -> tuple[Server, Chat]:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    storage = {"backend": "postgres", "url": database.url(database.new_database())}
    server = stack.enter_context(running(directory, workers=count, storage=storage))
    return server, Chat(loop, server)


def _posts(server: Server, chat: Chat, database: Postgres, connections: int, seconds: float) -> Row:
    with chat.poster(connections=connections) as poster:
        poster.paced(100, WARM_UP)
        return _flooded(server, database, poster, seconds)


def _marks(server: Server, chat: Chat, database: Postgres, connections: int, seconds: float) -> Row:
    path = f"/me/places/{chat.channel_id}"
    seen, unseen = (json.dumps(one).encode() for one in ({"position": _END}, {"from": _END}))

    def mark(number: int) -> bytes:
        turn, reader = divmod(number, READERS)
        verb, body = ("unread", unseen) if turn % 2 else ("read", seen)
        return request("PUT", f"{path}/{verb}", chat.token_of(reader), body)

    chat.sign_in(READERS)
    with Asker(chat.loop, server.port, mark, connections=connections) as reading:
        return _flooded(server, database, reading, seconds)


def _flooded(server: Server, database: Postgres, asker: Asker, seconds: float) -> Row:
    """Ask as fast as there are answers; return how many came, and the processor time of each."""
    before = len(asker.answered)
    here, there = _processor_seconds(server), database.processor_seconds()
    seconds = asker.flood(seconds)
    count = len(asker.answered) - before
    here, there = _processor_seconds(server) - here, database.processor_seconds() - there
    return {
        "a second": round(count / seconds),
        "here": round(1e6 * here / count),
        "at PostgreSQL": round(1e6 * there / count),
    }


def _processor_seconds(server: Server) -> float:
    processes = {server.process.pid, *server.worker_descriptors()}
    return sum(map(processor_seconds_of, processes))
