"""Counting requests: by endpoint, method and status, and how long until each answer began.

Labels are the program's own words, never a client's: an endpoint is named by its rule, and anything that does
not exist is ``none``, however it was spelled. An image or a stream takes as long as its client does, so the
measured time ends when the answer begins.
"""

from __future__ import annotations

import trio

from teamchat.observability import metrics
from teamchat.web.asgi import AsgiApp, Message, Receive, Scope, Send

ENDPOINT = "teamchat.endpoint"
"""Where the scope of a request holds the rule of its endpoint, once that is known."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestMeter:
    """Stands around `app` and counts what it answers; put there only if somebody shows the metrics."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = trio.current_time()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                _count(scope, message["status"], trio.current_time() - began)
            await send(message)

        await self._app(scope, receive, counted)


def _count(scope: Scope, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in _METHODS else "other"
    endpoint = scope.get(ENDPOINT, "none")
    metrics.requests.add(endpoint, method, str(status))
    metrics.request_seconds.observe(seconds, endpoint, method)
