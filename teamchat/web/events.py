"""``GET /events``: a small ASGI callable that stands in front of Quart (interface, parts 4 and 6).

An idle stream is what this server has most of, so it is spared a framework's request: 19 KiB instead of
33.  Everything but GET and HEAD of ``/events`` goes to the application behind, and so does a wrong method.

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
from teamchat.stream import Stream
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
ABORT = "teamchat.abort"
"""The name of the ASGI extension with which a server lets a stream drop its connection at once."""

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
        self, app: Application, inner: AsgiApp, admit: Callable[[Scope], object] = lambda _: None
    ) -> None:
        self._app = app
        self._inner = inner
        self._admit = admit
        self._headers = ResponseHeaders(app.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] not in {"GET", "HEAD"}:
            await self._inner(scope, receive, send)
            return
        try:
            stream = await self._open(scope)
        except Problem as problem:
            await self._refuse(scope, send, problem.status, problem.sentence, _extra_headers(problem))
        except Exception as error:  # Nothing of the inside goes out (D-01).
            _log.error("an event stream failed to open", exc_info=error)
            await self._refuse(scope, send, 500, "The server failed to open the stream.", [])
        else:
            await self._answer(scope, receive, send, stream)

    async def _refuse(self, scope: Scope, send: Send, status: int, sentence: str, extra: RawHeaders) -> None:
        await refuse(send, status, sentence, self._headers.finish(scope, extra))

    async def _open(self, scope: Scope) -> Stream | None:
        """Return the caller's stream; None for HEAD, which takes no place among the user's streams."""
        self._admit(scope)
        query = _query(scope)
        token = _token(scope, query)
        caller = await self._app.accounts.authenticate(token)
        if scope["method"] == "HEAD":
            return None
        stream = await self._app.hub.open(caller, _last_event_id(scope, query))
        try:
            # The session may have ended between the look at it and the subscription.
            await self._app.accounts.authenticate(token)
        except BaseException:
            stream.end("the session has ended", drop=True)
            raise
        return stream

    async def _answer(self, scope: Scope, receive: Receive, send: Send, stream: Stream | None) -> None:
        headers = self._headers.finish(scope, _STREAM_HEADERS)
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        if stream is None:
            await send(start)
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            await send(start)
            await _write(stream, scope, receive, send)
        finally:
            stream.end("the client has left", drop=True)


async def _write(stream: Stream, scope: Scope, receive: Receive, send: Send) -> None:
    """Write the stream until it ends or the client leaves; a stream that ended gets its last chunk."""
    ended = False
    async with trio.open_nursery() as nursery:
        abort = (scope.get("extensions") or {}).get(ABORT)
        stream.on_cut = abort or nursery.cancel_scope.cancel
        nursery.start_soon(_watch, receive, nursery.cancel_scope)
        async for chunk in stream:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        ended = True
        nursery.cancel_scope.cancel()
    if ended:
        await send({"type": "http.response.body", "body": b""})


async def _watch(receive: Receive, scope: trio.CancelScope) -> None:
    """Cancel `scope` once the client has left. A request body, which GET should not have, is passed over."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


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
