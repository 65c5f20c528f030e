"""Whether posts notice that thousands of streams come back at once and ask who is there (extension I-5).

A server is killed and started again; all its streams come back at the same moment, each says what it shows
(200 people, a place, that somebody sits there) and asks once who of these is there, as the web client does.
The server has stored some posts by then, for its first ones take longest whoever is there.
Posts come at an even pace all the time: while the streams were open before ("quiet"), while they come back,
and in the 20 seconds after, in which all are told of all whom they named.  Once more without presence, where
streams come back and say nothing, so that what opening streams takes is known.
Wanted: with presence the 99th percentile of posts is at most twice the quiet one after they came back, and
meanwhile at most what it is without.
"""

from __future__ import annotations

import json
import re
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import server as servers
from benchmarks.chat import MOST_USERS, Chat
from benchmarks.client import ask, ask_all, request
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.server import Server
from benchmarks.sizes import Sizes
from benchmarks.streams import Streams

_NAMED = 200
_AFTER_SECONDS = 20.0  # a server tells nothing in its first ten
_SETTLE_SECONDS = 15.0
_CONNECTIONS = 64
_WARM_UP = 20  # posts
_CONNECTION_ID = re.compile(rb'"connectionId": ?"([^"]+)"')


def run(sizes: Sizes) -> Report:
    """Come back to a server without presence, then to one with it."""
    report = Report(f"Presence: {sizes.returning:,} streams come back at once; posts at {sizes.rate:g}/s, ms")
    for name, is_on in (("presence off", False), ("presence on", True)):
        with tempfile.TemporaryDirectory() as directory, Loop() as loop:
            for what, row in _Returning(loop, Path(directory), sizes, is_on=is_on).measured().items():
                report.rows[f"{name}: {what}"] = row
    return report


class _Client:
    """What a stream's client says and asks once it has heard the id of its connection.

    All of it is made before posts come: what the generator does meanwhile would be told as the server's time.
    """

    def __init__(self, token: str, shown: bytes, asks: bytes) -> None:
        self._token, self._shown, self.asks = token, shown, asks
        self.shows = b""

    def __call__(self, heard: bytes) -> None:
        if not self.shows and (found := _CONNECTION_ID.search(heard)):
            self.shows = request("PUT", f"/events/{found[1].decode()}", self._token, self._shown)


class _Returning:
    """One server, its streams, and posts."""

    def __init__(self, loop: Loop, data: Path, sizes: Sizes, *, is_on: bool) -> None:
        self._loop, self._data, self._sizes, self._is_on = loop, data, sizes, is_on
        self._pace = 1.0 if sizes.returning >= MOST_USERS else 0.05  # of a run that shows only that it runs

    def measured(self) -> dict[str, Row]:
        """Return a row for each phase."""
        server = self._start()
        try:
            chat = Chat(self._loop, server)
            chat.sign_in(self._sizes.returning)
            asking = b" /events?ephemeral=presence,typing "
            opening = [one.replace(b" /events ", asking) for one in chat.listening(self._sizes.returning)]
            clients = self._clients(chat)
            with Streams(self._loop, chat.port, hear=clients.__getitem__) as streams:
                self._come_back(streams, opening, clients)
                self._loop.pause(_SETTLE_SECONDS * self._pace)
                with chat.poster() as poster:
                    poster.paced(self._sizes.rate, _WARM_UP)
                    quiet = poster.paced(self._sizes.rate, self._sizes.posts)
            server.end(signal.SIGKILL)
            server = self._start(chat.port)
            clients = self._clients(chat)
            with Streams(self._loop, chat.port, hear=clients.__getitem__) as streams, chat.poster() as poster:
                poster.paced(self._sizes.rate, _WARM_UP)
                poster.start(self._sizes.rate)
                self._come_back(streams, opening, clients)
                back = len(poster.begun)
                self._loop.pause(_AFTER_SECONDS * self._pace)
                poster.stop()
                times = [poster.answered[number] - begun for number, begun in enumerate(poster.begun)]
        finally:
            server.process.terminate()
            server.wait()
        opening_seconds = round(streams.opening_seconds, 2)
        return {
            "quiet": _row(quiet),
            "while they come back": _row(times[_WARM_UP:back]) | {"seconds": opening_seconds},
            "the 20 s after a restart": _row(times[back:]),
        }

    def _start(self, port: int = 0) -> Server:
        return servers.start(self._data, port=port, sections={"presence": {"enabled": self._is_on}})

    def _come_back(self, streams: Streams, opening: Sequence[bytes], clients: Sequence[_Client]) -> None:
        """Open all streams at once, and say of each what it shows."""
        streams.open(opening, at_once=len(opening))
        if self._is_on:
            said = [one for client in clients for one in (client.shows, client.asks)]
            answers = ask_all(self._loop, streams.port, said, connections=_CONNECTIONS)
            if refused := sum(one.status not in {200, 204} for one in answers):
                raise RuntimeError(f"{refused} of {len(answers)} questions were not answered")

    def _clients(self, chat: Chat) -> list[_Client]:
        users = ask(self._loop, chat.port, chat.get("/users")).json()["users"]
        people = [one["id"] for one in users]
        found = []
        for number in range(self._sizes.returning):
            token = chat.token_of(number % MOST_USERS)
            named = [people[(number + step) % len(people)] for step in range(min(_NAMED, len(people)))]
            shown = {"watch": [chat.channel_id], "presenceOf": named, "isActive": True}
            asks = request("GET", f"/presence?userIds={','.join(named)}", token)
            found.append(_Client(token, json.dumps(shown).encode(), asks))
        return found


def _row(times: list[float]) -> Row:
    return {
        "posts": len(times),
        "median": ms(middle(times)),
        "p99": ms(percentile(times, 0.99)),
        "longest": ms(max(times, default=0.0)),
    }
