"""The access log: one line for every request, written when its response has ended (``server.accessLog``).

A request is one line, whatever its path contains. The line has the request's id, method, path and client
address and nothing else of the request: no query string and no other header. What looks like a token in a
path is redacted, as everywhere in the logs. A stream gets its line when it ends, with the time it was open.
Only requests that reach the application are logged; what is not HTTP at all is refused before.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import trio

from teamchat.observability.logs import Prepared, redact
from teamchat.web.asgi import AsgiApp, Message, Receive, Scope, Send
from teamchat.web.headers import REQUEST_ID

_MOST_PATH = 500
_MOST_METHOD = 20
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The addresses of this server, ids and names of images in them: nothing there to redact or to escape.
_PLAIN = re.compile(r"(?:/(?:dm:)?[a-z0-9.-]{0,39})+")
# A query string that was escaped into the path is one nevertheless.
_PARAMETERS = re.compile(r"[?;&=].*", re.DOTALL)

_logger = logging.getLogger("teamchat.access")


class AccessLog:
    """Stands around `app` and logs what it answers; `client_address` returns to whom.

    Measured: 20 microseconds a request; five times that for a path that is none of this server's.
    """

    def __init__(self, app: AsgiApp, client_address: Callable[[Scope], str]) -> None:
        self._app = app
        self._client_address = client_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            await self._app(scope, receive, answer.send)
        finally:
            _write(scope, self._client_address(scope), answer)


class _Answer:
    """Passes a response on and notes what is logged of it; `status` is None until it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._began = trio.current_time()
        self.status: int | None = None
        self.size = 0

    @property
    def milliseconds(self) -> float:
        return round((trio.current_time() - self._began) * 1000, 1)

    async def send(self, message: Message) -> None:
        await self._send(message)
        self.status = message.get("status", self.status)
        self.size += len(message.get("body", b""))


def _write(scope: Scope, client: str, answer: _Answer) -> None:
    # Made here and not by a logger's method, which looks for its caller in the stack.
    if not _logger.isEnabledFor(logging.INFO):
        return
    fields: dict[str, Any] = {"status": answer.status, "ms": answer.milliseconds, "client": client}
    fields["bytes"] = answer.size
    if (name := scope.get(REQUEST_ID)) is not None:
        fields["request"] = name.decode()
    line = f"{_asked(scope)}, {json.dumps(fields)[1:-1]}"
    prepared: Any = Prepared("request", line)
    _logger.handle(logging.LogRecord(_logger.name, logging.INFO, "", 0, prepared, None, None))


def _asked(scope: Scope) -> str:
    """Return method and path as fields of JSON."""
    method, path = scope.get("method", "GET"), scope["path"]
    if method in _METHODS and len(path) < _MOST_PATH and _PLAIN.fullmatch(path):
        return f'"method": "{method}", "path": "{path}"'
    # Redacted first and cut afterwards: half a token looks like none.
    shown = redact(_PARAMETERS.sub("…", path))[:_MOST_PATH]
    return json.dumps({"method": redact(method)[:_MOST_METHOD], "path": shown})[1:-1]
