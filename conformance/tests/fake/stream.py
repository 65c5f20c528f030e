"""Events (interface, part 6): each open stream has a queue, and what happens is put in all that may know."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

import trio

from conformance.tests.fake.asking import Ask, route
from conformance.tests.fake.wire import Response

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

LATE_SECONDS = 0.3
_KEEP_ALIVE_SECONDS = 15.0


@dataclass(eq=False)
class Stream:
    """One open stream: what is to be sent, and when it is due."""

    user_id: str
    session_id: str
    queue: trio.MemorySendChannel[tuple[float, str, dict[str, Any]]]


class Streams:
    """All open streams."""

    def __init__(self, fake: Fake) -> None:
        self._fake = fake
        self._open: list[Stream] = []
        self._numbers = count(1)
        self._held: list[tuple[str, dict[str, Any], Collection[str] | None]] = []

    def send(self, kind: str, payload: dict[str, Any], to: Collection[str] | None) -> None:
        """Put an event in the queues of some users, or of all."""
        due = trio.current_time() + (LATE_SECONDS if self._fake.contrary else 0)
        deaf = self._deaf() if self._fake.has("second-stream-deaf") else []
        if self._fake.has("events-reordered") and kind == "NEW_MESSAGE" and not self._held:
            self._held.append((kind, payload, to))
            return
        if self._held:
            held, self._held = self._held[0], []
            self.send(kind, payload, to)
            kind, payload, to = held
        for one in self._open:
            if (to is None or one.user_id in to) and one not in deaf:
                one.queue.send_nowait((due, kind, payload))

    def _deaf(self) -> list[Stream]:
        """Return all streams of a user but the first."""
        first = {one.user_id: one for one in reversed(self._open)}
        return [one for one in self._open if one is not first[one.user_id]]

    def close(self, which: Callable[[Stream], bool]) -> None:
        """End streams, after what is in their queues."""
        for one in [one for one in self._open if which(one)]:
            one.queue.close()
            self._open.remove(one)

    async def pieces(self, ask: Ask) -> AsyncGenerator[bytes, None]:
        """Open a stream and yield its bytes."""
        sender, receiver = trio.open_memory_channel[tuple[float, str, dict[str, Any]]](math.inf)
        own = Stream(ask.user.id, ask.session.id if ask.session else "", sender)
        connected = (trio.current_time(), "CONNECTED", self._connected(ask))
        if self._fake.has("connected-second"):
            yield self._frame("UPDATE_SERVER_SETTINGS", {"name": self._fake.store.server_name})
        sender.send_nowait(connected)
        self._open.append(own)
        try:
            while True:
                event = None
                with trio.move_on_after(0.5 if self._fake.contrary else _KEEP_ALIVE_SECONDS):
                    event = await receiver.receive()
                if event is None:
                    yield b": still here\r\n\r\n" if self._fake.contrary else b":\n\n"
                    continue
                await trio.sleep_until(event[0])
                if self._fake.contrary:
                    yield b":\r\n\r\n"
                yield self._frame(event[1], event[2])
        except trio.EndOfChannel:
            return
        finally:
            if own in self._open:
                self._open.remove(own)

    def _connected(self, ask: Ask) -> dict[str, Any]:
        moment = datetime.now(UTC)
        told = {
            "message": "Connected",
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "userId": "somebody" if self._fake.has("connected-other-user") else ask.user.id,
            "connectionId": f"connection-{next(self._numbers)}",
        }
        if self._fake.has("connected-without-id"):
            del told["connectionId"]
        return told

    def _frame(self, kind: str, payload: dict[str, Any]) -> bytes:
        has = self._fake.has
        text = json.dumps({"type": kind, "payload": payload}, ensure_ascii=has("event-in-ascii"))
        if has("event-in-latin-1") and not text.isascii():
            return f"data: {text}\n\n".encode("latin-1", "replace")
        if has("event-payload-as-text") and kind == "NEW_MESSAGE":
            return f"data: {json.dumps({'type': kind, 'payload': json.dumps(payload)})}\n\n".encode()
        if has("event-header"):
            return f"event: {kind}\ndata: {text}\n\n".encode()
        if has("event-in-two-lines"):
            return f"data: {text[:-1]}\ndata: }}\n\n".encode()
        if has("event-without-end"):
            return f"data: {text}\n".encode()
        if has("event-raw-line-ends"):
            return f"data: {text}\n\n".replace("\\n", "\n").encode()
        if self._fake.contrary:
            return f"id: {next(self._numbers)}\r\ndata: {text}\r\n\r\n".encode()
        return f"data: {text}\n\n".encode()


@route("GET", "/events")
def events(fake: Fake, ask: Ask) -> Response:
    headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
    if fake.has("events-as-text"):
        headers["Content-Type"] = "text/plain"
    if ask.request.method == "HEAD":
        return Response(200, b"", headers)
    return Response(200, b"", headers, stream=fake.streams.pieces(ask))
