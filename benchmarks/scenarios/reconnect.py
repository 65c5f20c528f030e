"""How soon everyone has what they missed, when all come back at once.

Every client has seen an event and knows its last id; all leave; events happen; all connect again at the
same moment, each with its id.  "first event" is when the first client had its first missed event, "all
events" when the last client had its last; nothing may be missing, and nothing twice.  After SIGKILL the
server is started again at once, on the same port and data, and the time runs from the kill; "ready" is when
it said so, and the clients connect then.  Wanted: everything within 15 s.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import server as servers
from benchmarks.chat import Chat
from benchmarks.counting import Tail
from benchmarks.loop import Loop
from benchmarks.report import Report, Row
from benchmarks.server import Server
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams


def run(sizes: Sizes) -> Report:
    """Come back to a server that lived on, then to one that was killed."""
    report = Report(
        f"Reconnecting: {sizes.listeners:,} clients at once, {sizes.missed:,} events missed, times in seconds"
    )
    with tempfile.TemporaryDirectory() as directory, Loop() as loop:
        server = servers.start(Path(directory))
        try:
            chat = Chat(loop, server)
            requests = _miss(chat, sizes)
            report.rows["server lived on"] = _come_back(chat, sizes, requests, time.perf_counter())
            requests = _miss(chat, sizes)
            began = time.perf_counter()
            server = _killed(server, Path(directory))
            ready = time.perf_counter() - began
            row: Row = {"ready": round(ready, 3)}
            report.rows["after SIGKILL"] = row | _come_back(chat, sizes, requests, began)
        finally:
            server.process.terminate()
            server.wait()
    return report


def _miss(chat: Chat, sizes: Sizes) -> list[bytes]:
    """Have everyone listen and leave, then post what they miss; return the requests to come back by."""
    tails = [Tail() for _ in range(sizes.listeners)]
    with Streams(chat.loop, chat.port, hear=tails.__getitem__) as streams, chat.poster() as poster:
        streams.open(chat.listening(sizes.listeners, [""] * sizes.listeners))
        poster.paced(100, 1)
        streams.wait(1)
    with chat.poster() as poster:
        poster.paced(1000, sizes.missed)
    return chat.listening(sizes.listeners, [tail.last_id for tail in tails])


def _come_back(chat: Chat, sizes: Sizes, requests: Sequence[bytes], began: float) -> Row:
    with Streams(chat.loop, chat.port) as streams:
        streams.open(requests, at_once=sizes.listeners)
        streams.wait(sizes.missed)
        wanted = sizes.listeners * sizes.missed
        return {
            "first event": round(streams.tally.first[0] - began, 3),
            "all connected": round(streams.connected_at - began, 3),
            "all events": round(streams.tally.last[-1] - began, 3),
            "missing or twice": abs(streams.deliveries - wanted),
        }


def _killed(server: Server, data: Path) -> Server:
    server.end(signal.SIGKILL)
    return servers.start(data, port=server.port)
