"""A part of something: ``Range``, ``If-Range`` and ``If-None-Match`` (RFC 9110, sections 13 and 14).

One range is served. A request for several gets the whole, which the RFC allows, so that nobody can make a
server read a file many times with one request. An invalid range counts as none.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple

from teamchat.errors import NotFound, RangeNotSatisfiable
from teamchat.web.request import Request
from teamchat.web.responses import Response, Stream, is_known

Read = Callable[[int, int], Awaitable[AsyncIterator[bytes] | None]]
"""Opens the bytes from one offset up to another; None if there are none any more."""

_RANGE = re.compile(
    r"bytes[ \t]*=[ \t]*(?:([0-9]{1,18})[ \t]*-[ \t]*([0-9]{1,18})?|-[ \t]*([0-9]{1,18}))[ \t]*", re.I
)


class Span(NamedTuple):
    """Bytes from `start` up to `stop`, which is not among them."""

    start: int
    stop: int


def span_of(value: str | None, size: int) -> Span | None:
    """Return the bytes that ``Range`` asks for of `size`; None for all of them.

    Raises `RangeNotSatisfiable` if none of them are there.
    """
    found = _RANGE.fullmatch(value.strip()) if value is not None else None
    if found is None:
        return None
    first, last, from_end = found.groups()
    if from_end is not None:
        span = Span(max(0, size - int(from_end)), size)
    else:
        span = Span(int(first), size if last is None else min(int(last) + 1, size))
        if last is not None and int(last) < int(first):
            return None
    if span.start >= span.stop:
        raise RangeNotSatisfiable(size)
    return span


async def partly(
    request: Request,
    read: Read,
    content_type: str,
    *,
    size: int,
    etag: str,
    headers: Mapping[str, str],
) -> Response:
    """Return the answer to a request for something of `size` bytes: all of it, a part, or only its head.

    `read` is called for what is sent and for nothing else. Raises `NotFound` if it returns None, and
    `RangeNotSatisfiable`.
    """
    headers = {**headers, "Accept-Ranges": "bytes"}
    if is_known(etag, request.headers.get("If-None-Match")):
        return Response(headers=headers, etag=etag)  # From which 304 is made.
    span = _asked(request, size, etag)
    start, stop = span or Span(0, size)
    if request.method == "HEAD" or start == stop:
        return Stream(_nothing(), content_type, size=stop - start, headers=headers, etag=etag)
    chunks = await read(start, stop)
    if chunks is None:
        raise NotFound
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    status = 200 if span is None else 206
    return Stream(chunks, content_type, size=stop - start, status=status, headers=headers, etag=etag)


def _asked(request: Request, size: int, etag: str) -> Span | None:
    if request.method != "GET":
        return None
    condition = request.headers.get("If-Range")
    if condition is not None and condition.strip() != f'"{etag}"':
        return None
    values = request.headers.getlist("Range")
    return span_of(values[0], size) if len(values) == 1 else None


async def _nothing() -> AsyncGenerator[bytes, None]:
    return
    yield b""
