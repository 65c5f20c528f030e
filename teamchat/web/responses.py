"""What an endpoint answers: a struct, which becomes JSON, a text, or one of the kinds here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from teamchat.web.asgi import RawHeaders

_encode = msgspec.json.Encoder().encode
_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_IN_LOCATIONS = "!#$%&'()*+,/:;=?@[]~"  # RFC 3986: what stands for itself, and escapes as they are
_BODILESS = frozenset({204, 304})


class Unencodable(TypeError):
    """What an endpoint returned can't be sent. The message names types, and holds no value."""


class Response:
    """A response with a body that is there: bytes, which may be shared and are not copied, or a text.

    With `etag`, an opaque text without quotes, whoever has it already (``If-None-Match``) is answered 304.
    """

    __slots__ = ("content_type", "data", "etag", "headers", "length", "pieces", "status")

    def __init__(
        self,
        data: bytes | str = b"",
        content_type: str | None = None,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        etag: str | None = None,
    ) -> None:
        if isinstance(data, str):
            data, content_type = data.encode(), content_type or _TEXT
        self.data = data
        self.content_type = content_type
        self.status = status
        self.headers: RawHeaders = []
        self.etag = etag
        self.length = None if status in _BODILESS else len(data)
        self.pieces: AbstractAsyncContextManager[AsyncIterable[bytes]] | None = None
        if headers is not None:
            for name, value in headers.items():
                self.add_header(name, value)
        if etag is not None:
            self.add_header("ETag", f'"{etag}"')

    def add_header(self, name: str, value: str) -> None:
        """Add a header beside those that there are."""
        self.headers.append((name.lower().encode("ascii"), value.encode("latin1")))

    def raw_headers(self) -> RawHeaders:
        """Return the headers as they are sent."""
        raw = [*self.headers]
        if self.content_type is not None:
            raw.append((b"content-type", self.content_type.encode("latin1")))
        if self.length is not None:
            raw.append((b"content-length", b"%d" % self.length))
        return raw

    async def unless_known(self, if_none_match: str | None) -> Response:
        """Return this, or 304 for a client that has it: a weak comparison (RFC 9110, section 13.1.2)."""
        if self.etag is None or not is_known(self.etag, if_none_match):
            return self
        await self.close()
        known = Response(status=304)
        known.headers = [header for header in self.headers if header[0] != b"content-encoding"]
        return known

    async def close(self) -> None:
        """Close what was opened for a body that will not be sent."""
        if self.pieces is not None:
            async with self.pieces:
                pass


class NoContent(Response):
    """What was asked for is done, and there is nothing to answer."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(status=204)


def is_known(etag: str, if_none_match: str | None) -> bool:
    """Whether a client has it already: a weak comparison (RFC 9110, section 13.1.2)."""
    if if_none_match is None:
        return False
    given = [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    return f'"{etag}"' in given or given == ["*"]


class Stream(Response):
    """A response whose body is sent piece by piece as it is made; `size` is its length in bytes, if known.

    A piece may be any bytes-like object. `pieces` are closed if they have an ``aclose``, sent or not.
    """

    __slots__ = ()

    def __init__(
        self,
        pieces: AsyncIterable[bytes],
        content_type: str,
        *,
        size: int | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        etag: str | None = None,
    ) -> None:
        super().__init__(b"", content_type, status=status, headers=headers, etag=etag)
        self.length = size
        self.pieces = _closing(pieces)


class Redirect(Response):
    """A response that leads elsewhere; what a URL can't hold of `location` is escaped."""

    __slots__ = ()

    def __init__(self, location: str, status: int = 302) -> None:
        super().__init__(status=status, headers={"Location": quote(location, safe=_IN_LOCATIONS)})


def response_of(result: Any) -> Response:
    """Return the response for what a handler returned. Raises `Unencodable`."""
    if isinstance(result, Response):
        return result
    if result is None or type(result) is tuple:  # A forgotten return, or the status of another framework.
        raise Unencodable(f"the {type(result).__name__} that the endpoint returned is no answer")
    try:
        return Response(result) if isinstance(result, str) else Response(_encode(result), _JSON)
    except Exception as error:  # A hook of the encoder's may raise anything.
        kind = type(result).__name__
        raise Unencodable(f"the {kind} that the endpoint returned can't be encoded") from error


@asynccontextmanager
async def _closing(pieces: AsyncIterable[bytes]) -> AsyncGenerator[AsyncIterable[bytes], None]:
    try:
        yield pieces
    finally:
        if (close := getattr(pieces, "aclose", None)) is not None:
            await close()
