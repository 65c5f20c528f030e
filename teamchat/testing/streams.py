"""The live stream as a client reads it: event after event, each waited for with a deadline.

h11 reads it from a connection of its own, rather than an HTTP client: waiting for an event can then be given
up at any time, and continued later.
"""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import h11
import httpx2
import trio

from teamchat.testing.servers import DEADLINE


class Events:
    """The events of one stream, in the order they came.  `listening` opens one.

    `last_id` is the id of the newest event, for a stream that was opened with `last_event_id`; with another
    stream it stays empty. `connection_id` is what CONNECTED told, for ``PUT /events/:connectionId``.
    """

    def __init__(self, stream: trio.abc.Stream, target: str) -> None:
        self._stream = stream
        self._target = target
        self._reader = h11.Connection(our_role=h11.CLIENT)
        self._text = b""
        self.last_id = ""
        self.connection_id = ""

    async def open(self) -> None:
        """Send the request; the answer must be a stream whose first event is CONNECTED."""
        request = h11.Request(method="GET", target=self._target, headers=[("Host", "localhost")])
        await self._stream.send_all(self._reader.send(request) or b"")
        first = await self.next()
        assert first["type"] == "CONNECTED", f"a stream begins with CONNECTED, and this one with {first}"
        self.connection_id = first["payload"]["connectionId"]

    async def next(self, seconds: float = DEADLINE) -> dict[str, Any]:
        """Wait for the next event and return it: its ``type`` and its ``payload``.

        Raises `trio.TooSlowError` if none comes for so many seconds, `AssertionError` if the stream ends.
        """
        with trio.fail_after(seconds):
            while True:
                while b"\n" not in self._text:
                    await self._more()
                line, _, self._text = self._text.partition(b"\n")
                if line.startswith(b"id: "):
                    self.last_id = line.removeprefix(b"id: ").decode()
                if line.startswith(b"data: "):
                    event: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
                    return event

    async def until(self, kind: str, seconds: float = DEADLINE) -> dict[str, Any]:
        """Wait for an event of this type, passing over others, and return its payload.

        Raises `AssertionError`, naming the types that came instead, if it does not within so many seconds.
        """
        passed: list[str] = []
        with trio.move_on_after(seconds):
            while True:
                event = await self.next(seconds)
                if event["type"] == kind:
                    payload: dict[str, Any] = event["payload"]
                    return payload
                passed.append(event["type"])
        raise AssertionError(
            f"no {kind} within {seconds:g} seconds; there came: {', '.join(passed) or 'nothing'}"
        )

    async def _more(self) -> None:
        try:
            read = self._reader.next_event()
            if read is h11.NEED_DATA:
                self._reader.receive_data(bytes(await self._stream.receive_some()))
                return
        except (h11.RemoteProtocolError, trio.BrokenResourceError) as error:
            raise AssertionError("the stream ended") from error
        if isinstance(read, h11.Response):
            assert read.status_code == 200, f"the stream was refused with the status {read.status_code}"
        elif isinstance(read, h11.Data):
            self._text += bytes(read.data)
        else:
            raise AssertionError("the stream ended")


@asynccontextmanager
async def listening(
    client: httpx2.AsyncClient, *, last_event_id: str | None = None, ephemeral: Sequence[str] = ()
) -> AsyncIterator[Events]:
    """Open the live stream as `client`, over plain HTTP, and read CONNECTED::

        async with await server.sign_in() as ada, listening(ada) as events:
            await ada.post("/channels", json={"name": "Lobby"})
            assert (await events.until("NEW_CHANNEL"))["name"] == "Lobby"

    With `last_event_id` every event has an id, and what came after that one comes first; an empty one misses
    nothing from now on. `ephemeral` are the names of the signals that it asks for.
    """
    token = client.headers["Authorization"].removeprefix("Bearer ")
    query = {"token": token} if last_event_id is None else {"token": token, "lastEventId": last_event_id}
    if ephemeral:
        query["ephemeral"] = ",".join(ephemeral)
    base = client.base_url
    async with await trio.open_tcp_stream(base.host, base.port or 80) as stream:
        events = Events(stream, f"{base.path.rstrip('/')}/events?{urlencode(query)}")
        await events.open()
        yield events
