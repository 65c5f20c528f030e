"""What TLS costs without a proxy: plain, under TLS on the own server, and under TLS on Hypercorn, in turns.

Three servers live at once, each with the same people, and only the measured one is busy.  A page is the
newest 50 messages, a post is durable when it is answered; deliveries go to so many streams, once while posts
come as fast as they are answered, and once at an even pace.  "new connections" ask for ``/health`` once each,
so that most of their time is the handshake.  Clients speak HTTP/1.1, with TLS 1.3 and keys of the curve
P-256; some rows are of HTTP/2, which Hypercorn serves in any case, on the second server.

"processor µs" is the server's processor time for each request or delivery; "of plain" is the median, over
the rounds, of plain's processor time over this one's: 1 would be as fast.  Whatever else the machine does
falls on all alike.  "KiB a stream" is the server's memory for an idle one.  Wanted: at least half of plain.
"""

from __future__ import annotations

import json
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import trio

from benchmarks import http2
from benchmarks.chat import SIZE, Chat
from benchmarks.client import ask, request, trusted
from benchmarks.counting import marked
from benchmarks.loop import Loop
from benchmarks.report import Report, middle
from benchmarks.server import HYPERCORN, NATIVE, Server, running
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams
from tests.certificates import certified

PLAIN, TLS, TLS_ON_HYPERCORN, HTTP_2 = "plain", "TLS", "TLS on Hypercorn", "HTTP/2"
HEALTH = "/health"
WARM_UP = 50  # posts, and so the messages of a page
FAST, EVEN = "deliveries, posts as fast as they are answered", "deliveries, at an even pace"
_HANDSHAKES = 200  # new connections in a round

Figure = tuple[float, float]  # how many a second (0 if that is the client's), and processor seconds for each


class Series:
    """What each round gave, by what was measured and on which server."""

    def __init__(self) -> None:
        self._figures: dict[str, dict[str, list[Figure]]] = {}

    def add(self, kind: str, name: str, figure: Figure) -> None:
        """Note what one round gave."""
        self._figures.setdefault(kind, {}).setdefault(name, []).append(figure)

    def tell(self, report: Report) -> None:
        """Make a row of each."""
        for kind, figures in self._figures.items():
            for name, given in figures.items():
                row = report.rows[f"{kind}, {name}"] = {}
                if rate := middle([rate for rate, _ in given]):
                    row["a second"] = round(rate)
                row["processor µs"] = round(1e6 * middle([seconds for _, seconds in given]), 1)
                if name != PLAIN:
                    ratios = [its[1] / own[1] for own, its in zip(given, figures[PLAIN], strict=True)]
                    row["of plain"] = round(middle(ratios), 2)


class Measured:
    """One of the servers, and what is asked of it."""

    def __init__(self, loop: Loop, server: Server, sizes: Sizes) -> None:
        self._loop = loop
        self._server = server
        self._sizes = sizes
        self._chat = Chat(loop, server)
        with self._chat.poster() as poster:
            poster.paced(1000, WARM_UP)

    def asked(self, message: bytes) -> Figure:
        """Ask the same thing as fast as it is answered."""
        with self._chat.asker(message, connections=self._sizes.connections) as asker:
            before = self._server.processor_seconds()
            seconds = asker.flood(self._sizes.seconds)
            count = len(asker.answered)
            return count / seconds, (self._server.processor_seconds() - before) / count

    def requests(self) -> dict[str, bytes]:
        """Return what is asked for over and over."""
        pages = self._chat.get(self._chat.messages)
        return {
            HEALTH: request("GET", HEALTH),
            "pages": pages,
            "posts": self._chat.post(marked(0, SIZE)),
        }

    def new_connections(self) -> Figure:
        """Ask once on each connection."""
        count, message = min(_HANDSHAKES, self._sizes.listeners), request("GET", HEALTH)
        before, began = self._server.processor_seconds(), time.perf_counter()
        for _ in range(count):
            ask(self._loop, self._chat.port, message)
        seconds = time.perf_counter() - began
        return count / seconds, (self._server.processor_seconds() - before) / count

    def memory(self) -> float:
        """Return how many KiB an idle stream takes."""
        requests = self._chat.listening(self._sizes.listeners)
        before = self._server.memory()
        with Streams(self._loop, self._chat.port) as streams:
            streams.open(requests)
            self._loop.pause(self._sizes.settle)
            return round((self._server.memory() - before) / 1024 / len(requests), 1)

    def deliveries(self) -> Iterator[tuple[str, Figure]]:
        """Post while streams listen."""
        sizes = self._sizes
        with (
            self._chat.listen(sizes.listeners) as streams,
            self._chat.poster(connections=sizes.connections) as poster,
        ):
            for kind in (FAST, EVEN):
                already = streams.deliveries
                before, began = self._server.processor_seconds(), time.perf_counter()
                if kind == EVEN:
                    poster.paced(sizes.rate, sizes.posts)
                else:
                    poster.flood(sizes.seconds)
                streams.wait(len(poster.begun))
                count, seconds = streams.deliveries - already, time.perf_counter() - began
                spent = self._server.processor_seconds() - before
                yield kind, (0 if kind == EVEN else count / seconds, spent / count)

    def over_http2(self, trust: ssl.SSLContext) -> Iterator[tuple[str, Figure]]:
        """Ask the same over HTTP/2."""
        chat, sizes, server = self._chat, self._sizes, self._server
        post = http2.headers("POST", chat.messages, chat.token)
        body = json.dumps({"content": marked(0, SIZE)}).encode()
        for kind, head, sent in (
            (HEALTH, http2.headers("GET", HEALTH), b""),
            ("pages", http2.headers("GET", chat.messages, chat.token), b""),
            ("posts", post, body),
        ):
            before = server.processor_seconds()
            count = trio.run(http2.flood, chat.port, trust, head, sent, sizes.connections, sizes.seconds)
            yield kind, (0, (server.processor_seconds() - before) / count)
        tokens = [chat.token_of(number) for number in range(sizes.listeners)]
        listeners = [http2.headers("GET", "/events", token) for token in tokens]
        posts = [(post, body)] * sizes.posts
        deliver = partial(http2.deliver, chat.port, trust, listeners, posts, sizes.rate)
        yield EVEN, (0, trio.run(deliver, server.processor_seconds))


def run(sizes: Sizes) -> Report:
    """Measure the servers in alternating rounds."""
    report = Report(f"TLS: {sizes.connections} connections, {sizes.listeners:,} streams")
    series = Series()
    with tempfile.TemporaryDirectory() as directory, Loop() as loop:
        certificate = _certificate(Path(directory))
        trust = ssl.create_default_context(cafile=certificate[0])
        over_http2 = ssl.create_default_context(cafile=certificate[0])
        over_http2.set_alpn_protocols(["h2"])
        with _servers(loop, Path(directory), certificate, trust, sizes) as servers:
            for name, server in servers.items():
                report.rows[f"idle streams, {name}"] = {"KiB a stream": server.memory()}
            for _ in range(sizes.rounds):
                _measure_requests(servers, series)
                for kind, figure in servers[TLS].over_http2(over_http2):
                    series.add(kind, HTTP_2, figure)
                for name, server in servers.items():
                    for kind, figure in server.deliveries():
                        series.add(kind, name, figure)
    series.tell(report)
    return report


def _measure_requests(servers: dict[str, Measured], series: Series) -> None:
    for kind in servers[PLAIN].requests():
        for name, server in servers.items():
            series.add(kind, name, server.asked(server.requests()[kind]))
    for name, server in servers.items():
        series.add("new connections", name, server.new_connections())


@contextmanager
def _servers(
    loop: Loop, directory: Path, certificate: tuple[Path, Path], trust: ssl.SSLContext, sizes: Sizes
) -> Iterator[dict[str, Measured]]:
    servers: dict[str, Measured] = {}
    with ExitStack() as stack:
        for name, http1 in ((PLAIN, NATIVE), (TLS, NATIVE), (TLS_ON_HYPERCORN, HYPERCORN)):
            data = directory / name
            data.mkdir()
            shown = None if name == PLAIN else certificate
            server = stack.enter_context(running(data, http1=http1, certificate=shown))
            if shown is not None:
                trusted[server.port] = trust
                stack.callback(trusted.pop, server.port)
            servers[name] = Measured(loop, server, sizes)
        yield servers


def _certificate(directory: Path) -> tuple[Path, Path]:
    files = directory / "chat.pem", directory / "chat.key"
    for file, content in zip(files, certified("localhost"), strict=True):
        file.write_bytes(content)
    return files
