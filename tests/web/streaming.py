"""A request for the event stream, as the server hands it to the endpoint, and who may ask for one."""

from __future__ import annotations

from typing import Any

import trio

from teamchat.errors import Unauthorized
from teamchat.model import Caller, User
from teamchat.web.events import EventStream

PATIENCE = 5


class FakeAccounts:
    """Knows the tokens ``token-of-<user>``, each of a session of its own, until they are ended."""

    def __init__(self) -> None:
        self.ended: set[str] = set()
        self.failing = False
        self.asked = 0

    async def authenticate(self, token: str, **_: object) -> Caller:
        self.asked += 1
        await trio.lowlevel.checkpoint()
        if self.failing:
            raise RuntimeError("a secret detail")
        name = token.removeprefix("token-of-")
        if name == token or name in self.ended:
            raise Unauthorized
        return Caller(User(name, name, f"{name}@example.org", False), f"session-of-{name}")

    def used(self, caller: Caller, ip: str) -> None:
        """Nobody has a token here."""


class Wire:
    """A `DirectStream` that takes everything, or nothing once it is full."""

    def __init__(self) -> None:
        self.aborted = trio.Event()
        self.is_full = False
        self.is_gone = False
        self._to_test, self._written = trio.open_memory_channel[bytes](1000)

    def send_now(self, data: bytes) -> int:
        if self.is_gone:
            raise BrokenPipeError
        if self.is_full:
            return 0
        self._to_test.send_nowait(data)
        return len(data)

    async def wait_writable(self) -> None:
        if self.is_full:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()

    def abort(self) -> None:
        self.aborted.set()

    async def chunk(self) -> bytes:
        with trio.fail_after(PATIENCE):
            size, _, rest = (await self._written.receive()).partition(b"\r\n")
        assert len(rest) == int(size, 16) + 2
        assert rest.endswith(b"\r\n")
        return rest[:-2]


class Exchange:
    """One request and what came back for it; on a wire of its own once the stream has begun, or by ASGI."""

    wire: Wire | None = None

    def __init__(self, endpoint: EventStream, query: str = "", method: str = "GET", **extra: Any) -> None:
        self._endpoint = endpoint
        headers = extra.pop("headers", [])
        self.scope = {
            "type": "http",
            "method": method,
            "path": "/events",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers],
            "client": ("127.0.0.1", 1),
            "extensions": extra,
        }
        self._to_app, self._receive = trio.open_memory_channel[dict[str, Any]](5)
        self._send, self._from_app = trio.open_memory_channel[dict[str, Any]](0)
        self.ended = trio.Event()

    async def run(self) -> None:
        await self._endpoint.open(self.scope, self._receive.receive, self._send.send)
        self.ended.set()

    async def run_in(self, scope: trio.CancelScope) -> None:
        """Run as a server does that cancels the request of a client that has gone."""
        with scope:
            await self.run()

    async def message(self) -> dict[str, Any]:
        with trio.fail_after(PATIENCE):
            return await self._from_app.receive()

    async def start(self) -> tuple[int, dict[str, str]]:
        message = await self.message()
        assert message["type"] == "http.response.start"
        return message["status"], {name.decode(): value.decode() for name, value in message["headers"]}

    async def body(self) -> bytes:
        message = await self.message()
        assert message["type"] == "http.response.body"
        return bytes(message["body"])

    async def told(self) -> bytes:
        """Return what the stream wrote after CONNECTED."""
        return await (self.body() if self.wire is None else self.wire.chunk())

    def leave(self) -> None:
        self._to_app.send_nowait({"type": "http.disconnect"})

    async def end(self) -> None:
        with trio.fail_after(PATIENCE):
            await self.ended.wait()
