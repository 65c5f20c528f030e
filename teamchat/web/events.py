"""``GET /events``: the one endpoint whose answer has no end (interface, parts 4 and 6).

Most of what this server has is idle streams. While one is idle there is one task, the connection's own, which
waits for the client to leave; what the request held is released.

The response begins and ends through ASGI like any other. In between, the stream writes by itself, directly to
the socket if the server allows it (`teamchat.stream.transport`).

The access token is taken from the Authorization header, or else from the query parameter ``token``. If both
are there, only the header counts, even if it is bad. The Accept header does not matter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import trio

from teamchat.errors import Unauthorized
from teamchat.stream import Stream, Transport, transport_for
from teamchat.web import problems
from teamchat.web.asgi import RawHeaders, Receive, Scope, Send
from teamchat.web.guard import bearer
from teamchat.web.headers import Headers
from teamchat.web.request import Headers as RequestHeaders

if TYPE_CHECKING:
    from teamchat.application import Application

SCOPES = ("read", "events")
"""A token needs one of these for a stream (extension K-1)."""
_MOST_QUERY = 16 * 1024
_STREAM_HEADERS: RawHeaders = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """The event stream. `admit` may refuse a request before anything else is looked at, by a `Problem`.

    `address` returns the client's address."""

    method, rule, name = "GET", "/events", "events"
    path_parameters = ()

    def __init__(
        self,
        app: Application,
        admit: Callable[[Scope], Awaitable[object]],
        headers: Headers,
        address: Callable[[Scope], str] = lambda _: "",
    ) -> None:
        self._address = address
        self._app = app
        self._admit = admit
        self._headers = headers

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and serve its stream until one of the two ends it."""
        with trio.CancelScope() as request:
            transport = transport_for(scope, send, request.cancel)
            stream = await self._begin(scope, send, transport)
            del scope
            if stream is not None:
                await _until_the_client_leaves(stream, receive)
        if transport.is_finished:
            await send({"type": "http.response.body", "body": b""})

    async def _begin(self, scope: Scope, send: Send, transport: Transport) -> Stream | None:
        """Answer the request, and return the stream if there is one, started."""
        try:
            stream = await self._subscribe(scope, transport)
        except Exception as error:
            refusal = problems.answer(error, {"endpoint": f"GET {self.rule}"})
            headers = self._headers.finish(scope, refusal.raw_headers())
            await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
            await send({"type": "http.response.body", "body": refusal.data})
            return None
        await self._greet(scope, send, stream)
        return stream

    async def _greet(self, scope: Scope, send: Send, stream: Stream | None) -> None:
        headers = self._headers.finish(scope, _STREAM_HEADERS)
        first = b"" if stream is None else stream.greeting()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": first, "more_body": stream is not None})
        except BaseException:
            if stream is not None:
                stream.leave()
            raise
        if stream is not None:
            stream.start()

    async def _subscribe(self, scope: Scope, transport: Transport) -> Stream | None:
        """Return the caller's stream; None for HEAD, which takes no place among the user's streams."""
        await self._admit(scope)
        headers, query = RequestHeaders(scope["headers"]), _query(scope)
        token = _token(headers, query)
        caller = await self._app.accounts.authenticate(token, scopes=SCOPES)
        self._app.accounts.used(caller, self._address(scope))
        if scope["method"] == "HEAD":
            return None
        stream = await self._app.hub.open(
            caller,
            _last_event_id(headers, query),
            transport,
            _ephemeral(query),
            joined_alone=_joined_alone(query),
        )
        try:
            # The session may have ended between the look at it and the subscription.
            await self._app.accounts.authenticate(token, scopes=SCOPES)
        except BaseException:
            stream.leave()
            raise
        return stream


async def _until_the_client_leaves(stream: Stream, receive: Receive) -> None:
    """Wait for the end of the request. A body, which GET should not have, is passed over."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    finally:
        stream.leave()


def _query(scope: Scope) -> dict[str, list[str]]:
    raw: bytes = scope["query_string"]
    if len(raw) > _MOST_QUERY:
        return {}
    return parse_qs(raw.decode("latin-1"), keep_blank_values=True)


def _token(headers: RequestHeaders, query: dict[str, list[str]]) -> str:
    """Return the access token, or raise `Unauthorized`: also for two of them, which could be two users'."""
    given, tokens = headers.getlist("Authorization"), query.get("token", [])
    token = bearer(headers) if given else tokens[0] if len(tokens) == 1 else None
    if not token:
        raise Unauthorized
    return token


def _ephemeral(query: dict[str, list[str]]) -> set[str]:
    """Return the names of the signals that are asked for (extension rule X-8)."""
    return {name for value in query.get("ephemeral", []) for name in value.split(",")}


def _joined_alone(query: dict[str, list[str]]) -> bool:
    """Whether the stream is limited to the rooms its user is a member of (extension rule X-9)."""
    return query.get("scope", [])[-1:] == ["joined"]


def _last_event_id(headers: RequestHeaders, query: dict[str, list[str]]) -> str | None:
    """Return what the client last saw (D-34).

    The header wins: a browser that reconnects sends it along with the address it was once given.
    """
    if (header := headers.get("Last-Event-ID")) is not None:
        return header
    values = query.get("lastEventId")
    return None if values is None else values[-1]
