"""A client that calls an ASGI application in this process, and remembers what the application read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import trio

Headers = Iterable[tuple[str, str]]


@dataclass
class Answer:
    """A response, whole."""

    status: int
    raw_headers: list[tuple[str, str]]
    body: bytes
    messages: int
    pulled: int

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.raw_headers)

    def json(self) -> Any:
        return json.loads(self.body)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.raw_headers if key == name]

    def problem(self, status: int) -> str:
        """Hold the response to the one shape of errors (decision D-01) and return its sentence."""
        assert self.status == status, (self.status, self.body)
        assert self.headers["content-type"] == "application/json"
        told = self.json()
        assert list(told) == ["error"]
        assert isinstance(told["error"], str)
        assert told["error"]
        return str(told["error"])


@dataclass
class Client:
    """Calls `app`, with `token` in the Authorization header if there is one."""

    app: Any
    token: str | None = None
    peer: str = "192.0.2.7"
    pulled: int = field(default=0, init=False)

    async def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: Headers = (),
        pieces: list[bytes] | None = None,
        stalls: bool = False,
        announce: bool = True,
        version: str = "1.1",
        held: Callable[[], Awaitable[None]] | None = None,
    ) -> Answer:
        """Send one request. `body` is sent as JSON, `raw` as it is, `pieces` one message each.

        `held` is awaited before the last of the body is sent.
        """
        if body is not None:
            raw = json.dumps(body).encode()
            headers = [("content-type", "application/json"), *headers]
        parts = pieces if pieces is not None else [raw or b""]
        given = [(name.lower().encode("latin1"), value.encode("latin1")) for name, value in headers]
        if self.token is not None:
            given.append((b"authorization", b"Bearer " + self.token.encode()))
        if announce and parts != [b""]:
            given.append((b"content-length", b"%d" % sum(map(len, parts))))
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "method": method,
            "scheme": "http",
            "path": unquote(path, errors="replace"),
            "raw_path": path.encode(),
            "query_string": query.encode("latin1"),
            "root_path": "",
            "headers": given,
            "client": (self.peer, 50000),
            "server": ("127.0.0.1", 3000),
            "extensions": {},
            "state": {},
        }
        return await self._exchange(scope, parts, stalls=stalls, held=held)

    async def _exchange(
        self,
        scope: dict[str, Any],
        parts: list[bytes],
        *,
        stalls: bool,
        held: Callable[[], Awaitable[None]] | None,
    ) -> Answer:
        waiting = list(parts)
        sent: list[dict[str, Any]] = []
        self.pulled = 0

        async def receive() -> dict[str, Any]:
            self.pulled += 1
            await trio.lowlevel.checkpoint()
            if waiting:
                if held is not None and len(waiting) == 1:
                    await held()
                piece = waiting.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(waiting) or stalls}
            if stalls:
                await trio.sleep_forever()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        assert start["type"] == "http.response.start"
        assert not rest[-1].get("more_body", False)
        return Answer(
            start["status"],
            [(name.decode().lower(), value.decode("latin1")) for name, value in start["headers"]],
            b"".join(message["body"] for message in rest),
            len(rest),
            self.pulled,
        )

    async def ok(self, method: str, target: str, body: Any = None, **options: Any) -> Any:
        """Send one request that must succeed, and return its JSON."""
        answer = await self.call(method, target, body, **options)
        assert answer.status == 200, answer.body
        return answer.json()


def declared(site: Any, name: str) -> set[int]:
    """Return the statuses that an endpoint is declared with, beside the usual ones."""
    [endpoint] = [one for one in site.endpoints if one.name == name]
    return set(endpoint.statuses)
