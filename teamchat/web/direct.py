"""Declared endpoints, called without a framework's request: half of what a small answer costs otherwise.

What must stay true: a client can't tell which way its request went.  A request goes through Quart instead
if its endpoint asks for Quart's request, or if a plugin has registered functions that Quart calls before or
after requests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio
from quart import Response

from teamchat.web import problems
from teamchat.web.connection import Body, send_response
from teamchat.web.endpoints import encoded
from teamchat.web.sending import Encoded, send_data

if TYPE_CHECKING:
    from teamchat.web.app import Site
    from teamchat.web.endpoints import Endpoint
    from teamchat.web.routing import Parameters

Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]

_CLOSE = (b"connection", b"close")


class Fields:
    """A request's headers, looked up as they came; the names asked for are few and so are the headers."""

    __slots__ = ("_raw",)

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        self._raw = raw

    def getlist(self, name: str) -> list[str]:
        """Return every value of a header."""
        wanted = name.lower().encode()
        return [value.decode("latin1") for key, value in self._raw if key == wanted]

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a header, or `default`."""
        wanted = name.lower().encode()
        for key, value in self._raw:
            if key == wanted:
                return value.decode("latin1")
        return default


class Call:
    """One request to a declared endpoint: of Quart's request what endpoints read, and nothing else."""

    __slots__ = ("body", "headers", "query_string", "scope", "view_args")

    def __init__(self, scope: Any, parameters: Parameters, body: Body) -> None:
        self.scope = scope
        self.view_args = parameters
        self.body = body
        self.headers = Fields(scope["headers"])
        self.query_string: bytes = scope["query_string"]


async def serve(
    site: Site, endpoint: Endpoint, parameters: Parameters, scope: Any, receive: Receive, send: Send
) -> None:
    """Answer one request, in this task."""
    body = Body.of(scope, receive, site.bodies)

    async def make() -> Response | Encoded:
        return encoded(await endpoint.serve(site, Call(scope, parameters, body)))

    try:
        answer = await _made(site, scope, make)
        if isinstance(answer, Response):
            if body.is_left_unread:
                answer.headers["Connection"] = "close"
            await send_response(site, scope, send, answer)
            return
        headers = [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.data))]
        if body.is_left_unread:
            headers.append(_CLOSE)
        headers = site.headers.finish(scope, headers)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send_data(scope, send, answer.data)
    finally:
        body.release()
        site.rooms.release(scope)


async def _made(
    site: Site, scope: Any, make: Callable[[], Awaitable[Response | Encoded]]
) -> Response | Encoded:
    try:
        return await site.rooms.answer(scope, make)
    except BaseExceptionGroup as error:
        if error.split(trio.Cancelled)[0] is not None:
            raise
        return problems.answer(error, site.endpoint_in_logs(scope))
    except Exception as error:
        return problems.answer(error, site.endpoint_in_logs(scope))
