"""A target: an HTTP server that hands on what it was sent."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import h11
import pytest
import trio

from teamchat.testing import DEADLINE


@dataclass
class Listening:
    """Answers 200 with `answer` after `pause` seconds, and counts its connections."""

    url: str = ""
    pause: float = 0
    answer: bytes = b"thanks"
    connections: int = 0
    headers: list[dict[bytes, bytes]] = field(default_factory=list)
    sent: trio.MemorySendChannel[Any] = field(init=False)
    came: trio.MemoryReceiveChannel[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.sent, self.came = trio.open_memory_channel[Any](math.inf)

    async def next(self) -> Any:
        """Return the next event it was sent."""
        with trio.fail_after(DEADLINE):
            return await self.came.receive()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Take the requests of one connection."""
        self.connections += 1
        async with stream:
            talk = h11.Connection(h11.SERVER)
            try:
                while await self._request(talk, stream):
                    talk.start_next_cycle()
            except trio.BrokenResourceError:
                return

    async def _request(self, talk: h11.Connection, stream: trio.SocketStream) -> bool:
        body = b""
        while not isinstance(read := talk.next_event(), h11.EndOfMessage):
            if read is h11.NEED_DATA:
                talk.receive_data(await stream.receive_some())
            elif isinstance(read, h11.Request):
                self.headers.append(dict(read.headers))
            elif isinstance(read, h11.Data):
                body += bytes(read.data)
            elif isinstance(read, h11.ConnectionClosed):
                return False
        await trio.sleep(self.pause)
        self.sent.send_nowait(json.loads(body))
        length = str(len(self.answer)).encode()
        head = h11.Response(status_code=200, headers=[("Content-Length", length), ("Set-Cookie", "a=b")])
        for part in (head, h11.Data(data=self.answer), h11.EndOfMessage()):
            await stream.send_all(talk.send(part) or b"")
        return talk.our_state is h11.DONE


@pytest.fixture
async def tracker() -> AsyncIterator[Listening]:
    found = Listening()
    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        found.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/hook"
        nursery.start_soon(trio.serve_listeners, found.serve, [listener])
        yield found
        nursery.cancel_scope.cancel()
