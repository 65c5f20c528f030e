"""The bytes of files and thumbnails: who asks for them, and the answer that has them (extension G)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from teamchat import Unauthorized
from teamchat.model import Caller
from teamchat.observability import metrics
from teamchat.web import Request, Response, Visitor, partly
from teamchat_files import tickets
from teamchat_files.media_types import PLAIN_TEXT
from teamchat_files.names import disposition
from teamchat_files.seeing import while_signed_in

if TYPE_CHECKING:
    from teamchat import Teamchat

_POLICY = "sandbox; default-src 'none'"
_FOREVER = "private, max-age=31536000, immutable"


class Serving:
    """Serves bytes from the store of files, so that nothing in them runs as part of the chat."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        is_for_others = bool(app.settings.server.allowed_origins)
        self._resource_policy = "cross-origin" if is_for_others else "same-site"

    async def asking(self, visitor: Visitor, bearer: str | None, file_id: str, ticket: str | None) -> Caller:
        """Return who asks, by an access token or by a link's ticket. Raises `Unauthorized` without either."""
        if ticket is not None and bearer is None:
            return await tickets.holder(self._app, file_id, ticket)
        if bearer is None:
            raise Unauthorized
        caller = await self._app.accounts.authenticate(bearer, scopes=("read", "files"))
        self._app.accounts.used(caller, visitor.ip)
        return caller

    async def serve(
        self,
        request: Request,
        caller: Caller,
        key: str,
        kind: str,
        size: int,
        name: str,
        *,
        shown: bool,
        lasts: bool,
    ) -> Response:
        """Answer with the bytes under a key, or the part of them that is asked for.

        `kind` is their media type, and `size` how many there are. `shown` says whether a browser may show
        them, and `lasts` whether they stay as they are, so that it may keep them.
        """
        headers = {
            "Cache-Control": _FOREVER if lasts else "private, no-cache",
            "Content-Security-Policy": _POLICY,
            "Cross-Origin-Resource-Policy": self._resource_policy,
            "Content-Disposition": disposition(name, is_inline=shown),
            "Vary": "Authorization",
        }
        store = self._app.file_store

        async def read(start: int, stop: int) -> AsyncIterator[bytes] | None:
            chunks = await store.read(key, start, stop)
            return None if chunks is None else while_signed_in(self._app, caller, _counted(chunks))

        return await partly(
            request,
            read,
            f"{kind}; charset=utf-8" if kind == PLAIN_TEXT else kind,
            size=size,
            etag=key,
            headers=headers,
        )


async def _counted(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Pass on what is sent of a file, and count it."""
    metrics.file_reads.value += 1
    try:
        async for chunk in chunks:
            metrics.file_bytes_sent.value += len(chunk)
            yield chunk
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
