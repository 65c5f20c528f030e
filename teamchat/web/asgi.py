"""ASGI as teamchat uses it: what an application gets of a request, and how it answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]

WHOLE_BODY = "teamchat.body"
"""The name of the ASGI extension that returns a request's body without waiting; None if not all has come."""


async def refuse(send: Send, status: int, sentence: str, extra: RawHeaders) -> None:
    """Send an error as the interface shapes it (part 7), before there is an application to ask."""
    body = json.dumps({"error": sentence}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *extra,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
