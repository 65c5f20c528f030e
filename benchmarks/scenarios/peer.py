"""Beside another server of this interface, in turns within one run: what says more than figures of two days.

The other server runs already, at ``--peer http://127.0.0.1:PORT``, with nothing in it: in dev mode, open to
anybody, with `admin@localhost` as its first user, and without a limit of requests.  Each round asks both for
the newest 50 messages and has both take posts, as fast as they answer; then posts come at an even pace while
streams listen, and one poster posts as fast as it is answered.  Medians of the rounds are told, and "against
the peer" is the median of the rounds' ratios of rates, or of times the other way around: more than 1 is for
teamchat.  Whether a post that the peer has answered would survive the end of its machine is not asked here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from benchmarks.chat import SIZE, Chat, latencies, serving
from benchmarks.client import HOST, ask
from benchmarks.counting import marked
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians, middle, ms, percentile
from benchmarks.server import Elsewhere
from benchmarks.sizes import Sizes

PRODUCT, PEER = "teamchat", "the peer"
WARM_UP = 50  # posts, and so the messages of a page
_RATE, _MEDIAN = "a second", "median ms"


def run(sizes: Sizes) -> Report:
    """Measure both in alternating rounds."""
    report = Report(f"Beside a peer: {sizes.connections} connections, {sizes.listeners:,} streams")
    rounds: dict[tuple[str, str], list[Row]] = {}
    peer = _peer(sizes)
    with Loop() as loop, serving(loop) as (_, own):
        chats = {PRODUCT: own, PEER: Chat(loop, peer)}
        for chat in chats.values():
            with chat.poster() as poster:
                poster.paced(100, WARM_UP)
        for _ in range(sizes.rounds):
            for kind, measure in _KINDS.items():
                for name, chat in chats.items():
                    rounds.setdefault((kind, name), []).append(measure(chat, sizes))
        sizes_of_page = {name: len(_page(chat)) for name, chat in chats.items()}
    for (kind, name), rows in rounds.items():
        told = medians(rows)
        if name == PRODUCT:
            told["against the peer"] = _ratio(rows, rounds[kind, PEER])
        report.rows[f"{kind}, {name}"] = told
    report.notes.append(
        f"A page has {sizes_of_page[PRODUCT]:,} bytes here and {sizes_of_page[PEER]:,} at the peer."
    )
    return report


def _peer(sizes: Sizes) -> Elsewhere:
    with suppress(ValueError):  # as of the port 99999
        address = urlsplit(sizes.peer)
        if address.scheme == "http" and address.hostname == HOST and address.port is not None:
            return Elsewhere(address.port)
    raise RuntimeError(f"--peer is to be http://{HOST}:PORT, where another server runs")


def _page(chat: Chat) -> bytes:
    return ask(chat.loop, chat.port, chat.get(chat.messages)).body


def _flooded(chat: Chat, message: bytes, sizes: Sizes) -> Row:
    with chat.asker(message, connections=sizes.connections) as asker:
        seconds = asker.flood(sizes.seconds)
        times = asker.times()
    return {_RATE: round(len(times) / seconds), **_times(times)}


def _pages(chat: Chat, sizes: Sizes) -> Row:
    return _flooded(chat, chat.get(chat.messages), sizes)


def _posts(chat: Chat, sizes: Sizes) -> Row:
    return _flooded(chat, chat.post(marked(0, SIZE)), sizes)


def _last_of_streams(chat: Chat, sizes: Sizes) -> Row:
    with chat.listen(sizes.listeners) as streams, chat.poster() as poster:
        poster.paced(sizes.rate, sizes.posts)
        streams.wait(sizes.posts)
        return _times(latencies(streams, poster)[1])


def _deliveries(chat: Chat, sizes: Sizes) -> Row:
    with chat.listen(sizes.listeners) as streams, chat.poster(connections=1) as poster:
        began = time.perf_counter()
        poster.flood(sizes.seconds)
        streams.wait(len(poster.begun))
        return {_RATE: round(streams.deliveries / (streams.tally.last[-1] - began))}


def _times(times: list[float]) -> Row:
    return {_MEDIAN: ms(middle(times)), "p99 ms": ms(percentile(times, 0.99))}


def _ratio(own: list[Row], its: list[Row]) -> float:
    """Return the median of the rounds' ratios: of rates, or of medians of times the other way around."""
    if _RATE in own[0]:
        ratios = [float(one[_RATE]) / float(other[_RATE]) for one, other in zip(own, its, strict=True)]
    else:
        ratios = [float(other[_MEDIAN]) / float(one[_MEDIAN]) for one, other in zip(own, its, strict=True)]
    return round(middle(ratios), 2)


_KINDS: dict[str, Callable[[Chat, Sizes], Row]] = {
    "pages": _pages,
    "posts": _posts,
    "the last of all streams": _last_of_streams,
    "deliveries of one poster": _deliveries,
}
