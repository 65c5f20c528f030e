"""The people and the channel of a benchmark.

There is a user for each stream, up to a thousand; more streams are second and third devices of theirs.  That
is how a server is used, and what its work for each event (who may see it?) should be measured with.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.asking import Asker
from benchmarks.client import ask, ask_all, request
from benchmarks.counting import marked
from benchmarks.loop import Loop
from benchmarks.server import EMAIL, NATIVE, Elsewhere, Server, running
from benchmarks.streams import Streams

MOST_USERS = 1000
SIZE = 60  # characters in a post, about as long as what people write


class Chat:
    """Speaks to one server as its administrator, and knows the tokens of its people."""

    def __init__(self, loop: Loop, server: Server | Elsewhere) -> None:
        self.loop = loop
        self.port = server.port
        signed_in = ask(loop, self.port, _login(EMAIL)).json()
        self.token: str = signed_in["token"]
        self.user_id: str = signed_in["user"]["id"]
        channels = ask(loop, self.port, self.get("/channels")).json()
        self.channel_id: str = channels["channels"][0]["id"]
        self.messages = f"/channels/{self.channel_id}/messages"
        self._tokens: list[str] = []

    def get(self, path: str) -> bytes:
        """Return a request of the administrator."""
        return request("GET", path, self.token)

    def post(self, content: str) -> bytes:
        """Return the request that posts this into the channel."""
        return self.post_to(self.messages, {"content": content})

    def post_to(self, path: str, body: object) -> bytes:
        """Return a request of the administrator with a body."""
        return request("POST", path, self.token, json.dumps(body).encode())

    def token_of(self, number: int) -> str:
        """Return the token of one of the people."""
        self.sign_in(number + 1)
        return self._tokens[number]

    def poster(self, *, size: int = SIZE, connections: int = 16) -> Asker:
        """Return what posts marked messages, numbered from 0."""
        return Asker(
            self.loop, self.port, lambda number: self.post(marked(number, size)), connections=connections
        )

    def asker(self, message: bytes, *, connections: int = 16) -> Asker:
        """Return what asks the same thing over and over."""
        return Asker(self.loop, self.port, lambda _: message, connections=connections)

    def sign_in(self, count: int) -> None:
        """Have so many people, or as many as there may be, sign in."""
        wanted = range(len(self._tokens), min(count, MOST_USERS))
        logins = [_login(f"person-{number}@example.org") for number in wanted]
        if logins:
            self._tokens += [answer.json()["token"] for answer in ask_all(self.loop, self.port, logins)]

    def listening(self, count: int, last_ids: Sequence[str] | None = None) -> list[bytes]:
        """Return the requests that open so many streams; with ids (which may be empty) they resume."""
        self.sign_in(count)
        paths = [
            "/events" if last_ids is None else f"/events?lastEventId={last_ids[n]}" for n in range(count)
        ]
        return [request("GET", path, self._tokens[n % len(self._tokens)]) for n, path in enumerate(paths)]

    def listen(self, count: int, *, stalling: bool = False) -> Streams:
        """Open so many streams."""
        requests = self.listening(count)
        return Streams(self.loop, self.port, stalling=stalling).open(requests)


@contextmanager
def serving(loop: Loop, *, http1: str = NATIVE) -> Iterator[tuple[Server, Chat]]:
    """Run a server with nothing in it, and sign in to it."""
    with tempfile.TemporaryDirectory() as directory, running(Path(directory), http1=http1) as server:
        yield server, Chat(loop, server)


def latencies(streams: Streams, poster: Asker, since: int = 0) -> tuple[list[float], list[float]]:
    """Return the seconds from each post to its first and to its last delivery, from post `since` on."""
    first, last = [], []
    for ordinal, sequence in enumerate(streams.witness.sequences):
        if sequence >= since:
            first.append(streams.tally.first[ordinal] - poster.begun[sequence])
            last.append(streams.tally.last[ordinal] - poster.begun[sequence])
    return first, last


def _login(email: str) -> bytes:
    return request("POST", "/auth/dev-login", body=json.dumps({"email": email}).encode())
