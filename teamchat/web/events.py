"""``GET /events``: a small ASGI callable that stands in front of Quart (interface, parts 4 and 6).

An idle stream is what this server has most of, so it is spared a framework's request.  While it is idle,
there is one task, the connection's own, which waits for the client to leave; what the request held is let
go of.  Everything but GET and HEAD of ``/events`` goes to the application behind, and so does a wrong method.

The response begins and ends through ASGI like any other.  In between the stream writes for itself, straight
to the socket where the server lets it (`teamchat.stream.transport`).

The access token is taken from the Authorization header, or else from the query parameter ``token``; when
both are there the header alone counts, even if it is bad.  The Accept header does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import trio
from werkzeug.datastructures import Headers

from teamchat.errors import Problem, TooManyRequests, Unauthorized
from teamchat.logs import get_logger
from teamchat.stream import Stream, Transport, transport_for
from teamchat.stream.transport import ABORT as ABORT
from teamchat.web.guard import bearer
from teamchat.web.headers import Headers as ResponseHeaders
from teamchat.web.headers import RawHeaders

if TYPE_CHECKING:
    from teamchat.application import Application

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]

PATH = "/events"

_log = get_logger(__name__)
_MOST_QUERY = 16 * 1024
_STREAM_HEADERS: RawHeaders = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventsEndpoint:
    """The event stream in front of `inner`, which has everything else.

    `admit` may refuse a request by raising a `Problem`, before anything else is looked at.
    """

    def __init__(
        self, app: Application, inner: AsgiApp, admit: Callable[[Scope], Awaitable[object]] | None = None
    ) -> None:
        self._app = app
        self._inner = inner
        self._admit = admit
        self._headers = ResponseHeaders(app.settings)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in {"GET", "HEAD"}:
            return self._inner(scope, receive, send)
        return self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            stream = await self._open(scope, transport)
        except Problem as problem:
            await self._refuse(scope, send, problem.status, problem.sentence, _extra_headers(problem))
            return None
        except Exception as error:  # Nothing of the inside goes out (D-01).
            _log.error("an event stream failed to open", exc_info=error)
            await self._refuse(scope, send, 500, "The server failed to open the stream.", [])
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

    async def _refuse(self, scope: Scope, send: Send, status: int, sentence: str, extra: RawHeaders) -> None:
        await refuse(send, status, sentence, self._headers.finish(scope, extra))

    async def _open(self, scope: Scope, transport: Transport) -> Stream | None:
        """Return the caller's stream; None for HEAD, which takes no place among the user's streams."""
        if self._admit is not None:
            await self._admit(scope)
        query = _query(scope)
        token = _token(scope, query)
        caller = await self._app.accounts.authenticate(token)
        if scope["method"] == "HEAD":
            return None
        stream = await self._app.hub.open(caller, _last_event_id(scope, query), transport)
        try:
            # The session may have ended between the look at it and the subscription.
            await self._app.accounts.authenticate(token)
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


async def refuse(send: Send, status: int, sentence: str, extra: RawHeaders) -> None:
    """Send an error as the interface shapes it (part 7)."""
    body = json.dumps({"error": sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _extra_headers(problem: Problem) -> RawHeaders:
    if isinstance(problem, TooManyRequests):
        return [(b"retry-after", b"%d" % problem.retry_after)]
    if problem.status == HTTPStatus.UNAUTHORIZED:
        return [(b"www-authenticate", b"Bearer")]
    return []


def _query(scope: Scope) -> dict[str, list[str]]:
    raw: bytes = scope["query_string"]
    if len(raw) > _MOST_QUERY:
        return {}
    return parse_qs(raw.decode("latin-1"), keep_blank_values=True)


def _header(scope: Scope, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key.lower() == name), None)


def _token(scope: Scope, query: dict[str, list[str]]) -> str:
    """Return the access token, or raise `Unauthorized`: also for two of them, which could be two users'."""
    given = Headers(
        [
            ("Authorization", value.decode("latin-1"))
            for key, value in scope["headers"]
            if key == b"authorization"
        ]
    )
    tokens = query.get("token", [])
    token = bearer(given) if given else tokens[0] if len(tokens) == 1 else None
    if not token:
        raise Unauthorized
    return token


def _last_event_id(scope: Scope, query: dict[str, list[str]]) -> str | None:
    """Return what the client last saw (D-34).

    The header wins: a browser that reconnects sends it along with the address it was once given.
    """
    header = _header(scope, b"last-event-id")
    if header is not None:
        return header.decode("latin-1")
    values = query.get("lastEventId")
    return None if values is None else values[-1]
