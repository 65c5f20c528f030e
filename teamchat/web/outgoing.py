"""Asking another server no further than it is trusted: at most 1 MiB a response, read at once, uncompressed.

It is for plugins that use httpx2; the server itself asks no other.
"""

from __future__ import annotations

import ssl

import httpx2
import trio

from teamchat.errors import TeamchatError

MOST_BYTES = 1024 * 1024


class AnswerRefused(TeamchatError):
    """Another server's answer is none that is read; the message says why, and holds nothing of it."""


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Reads each response whole, and refuses one that is too large before it is all there."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its response, with the body."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        try:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise AnswerRefused("an encoded response")  # a small one could be large once decoded
            body = await _whole(response)
        finally:
            await response.aclose()
        return httpx2.Response(response.status_code, headers=response.headers, content=body)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def _whole(response: httpx2.Response) -> bytes:
    """Return the body.

    One that is too large is cut off by a cancellation, which ends httpx2's generators from the inside: an
    exception raised here would leave them open, and on Trio nobody would close them.
    """
    body = bytearray()
    with trio.CancelScope() as reading:
        async for piece in response.stream:  # type: ignore[union-attr]
            if len(body) + len(piece) > MOST_BYTES:
                reading.cancel()
            else:
                body += piece
    if reading.cancel_called:
        raise AnswerRefused("a response of more than 1 MiB")
    return bytes(body)
