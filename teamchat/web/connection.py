"""One request: read, handled and answered in the connection's own task.

Nothing of a body is read before the endpoint asks for it, which it does after authentication; a body has a
limit and a deadline.  A client that goes does not cancel what it asked for: a write that has begun is
finished.  How long a response may take is the server's business; nothing here cuts one, as Quart would.
Quart-Trio's own class runs two tasks a request, reads every body into memory at once and cancels handlers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, Self

import trio
from quart.utils import encode_headers
from quart.wrappers.response import DataBody
from quart_trio.asgi import TrioASGIHTTPConnection

from teamchat.errors import BadRequest, TooLarge
from teamchat.web import problems
from teamchat.web.reader import BODY_LIMIT

if TYPE_CHECKING:
    from teamchat.web.app import Site

BODY_SECONDS = 60.0
_SLOWEST = 16 * 1024
"""Bytes a second: a long body has longer, as the line of a phone wants it."""
_MOST_UNREAD = 16 * 1024

Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]


class Body:
    """A request's body, pulled from the connection when it is read and not before.

    It stands where Quart keeps its own, so a plugin's plain Quart view can ``await request.get_data()``.
    """

    def __init__(self, receive: Receive, announced: int) -> None:
        self._receive = receive
        self._announced = announced
        self._data: bytes | None = None

    @classmethod
    def of(cls, scope: Any, receive: Receive) -> Self:
        """Return the body of a request."""
        return cls(receive, _announced(scope))

    @property
    def is_left_unread(self) -> bool:
        """Whether so much was announced and not read that the connection can't go on after the response."""
        return self._data is None and self._announced > _MOST_UNREAD

    async def read(self, limit: int = BODY_LIMIT) -> bytes:
        """Return the whole body; `TooLarge` (413) beyond `limit` bytes, `BodyTimeout` (408) after 60 s.

        A body that announces its length has a second more for each 16 KiB.
        """
        if self._data is None:
            if self._announced > limit:
                raise TooLarge(f"The body is larger than {limit} bytes.")
            with trio.move_on_after(BODY_SECONDS + self._announced / _SLOWEST) as deadline:
                self._data = await self._pull(limit)
            if deadline.cancelled_caught or self._data is None:
                raise problems.BodyTimeout("The body did not arrive in time.")
        return self._data

    def __await__(self) -> Generator[Any, None, bytes]:
        return self.read().__await__()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield await self.read()

    def clear(self) -> None:
        """Forget what was read."""
        self._data = b""

    async def _pull(self, limit: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise BadRequest("The body is incomplete.")
            piece = message.get("body", b"")
            size += len(piece)
            if size > limit:
                raise TooLarge(f"The body is larger than {limit} bytes.")
            pieces.append(piece)
            if not message.get("more_body", False):
                return b"".join(pieces) if len(pieces) > 1 else pieces[0]


class Connection(TrioASGIHTTPConnection):
    """What Quart calls for each request."""

    app: Site

    async def __call__(self, receive: Any, send: Any) -> None:
        """Handle the request and send its response, in this task."""
        preflight = self.app.headers.preflight(self.scope)
        if preflight is not None:
            await send({"type": "http.response.start", "status": 204, "headers": preflight})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        body = Body.of(self.scope, receive)
        try:
            request = self._create_request_from_scope(send)
            request.body = body  # type: ignore[assignment]
            response: Any = await self.app.handle_request(request)
        except Exception as error:  # what fails before Quart's own handling, such as an unusable Host
            response = problems.answer(error)
        if body.is_left_unread and self.scope["http_version"] == "1.1":
            response.headers["Connection"] = "close"  # RFC 9112, section 9.6: say so before it closes
        await send_response(self.app, self.scope, send, response)


async def send_response(app: Site, scope: Any, send: Send, response: Any) -> None:
    """Send a Quart response with the headers that every response has."""
    headers = app.headers.finish(scope, encode_headers(response.headers))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    body = response.response
    if type(body) is DataBody:
        data = b"" if scope["method"] == "HEAD" else body.data
        await send({"type": "http.response.body", "body": data, "more_body": False})
        return
    async with body as pieces:
        if scope["method"] != "HEAD":
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _announced(scope: Any) -> int:
    """Return how long a request says its body is, in bytes."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
