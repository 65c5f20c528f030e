"""Skips what nobody read of a request's body, so that its connection goes on, as on `http1`.

Hypercorn silently closes a connection if an answer ends before its request has. A short body that comes a
moment after the head is enough for that, and the client's next request is lost.
"""

from __future__ import annotations

import trio

from teamchat.web.asgi import Message, Receive, Scope, Send

DRAIN_BYTES = 64 * 1024
"""How much of an unread body is passed over."""
DRAIN_SECONDS = 5.0
"""How long is waited for it, once the answer is sent."""


def has_body(scope: Scope) -> bool:
    """Return whether a body follows the head; a client that waits to be asked for it sends none unasked."""
    names = dict(scope["headers"])
    announced = names.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in names
    return announced and b"expect" not in names


class WholeRequest:
    """Stands between an application and a request that has a body: `receive` and `send` are as ASGI's."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._is_whole = False

    async def receive(self) -> Message:
        """Return the next message of the request."""
        message = await self._receive()
        self._is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a message of the answer; before it ends, the request has to."""
        ends = message["type"] == "http.response.body" and not message.get("more_body", False)
        if ends and not self._is_whole:
            await self._send({**message, "more_body": True})
            await self._pass_over()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _pass_over(self) -> None:
        left = DRAIN_BYTES
        with trio.move_on_after(DRAIN_SECONDS):
            while left > 0 and not self._is_whole:
                left -= len((await self.receive()).get("body", b""))
