"""Paths as they are sent: only what a segment can't hold is escaped (RFC 3986, section 3.3)."""

from __future__ import annotations

from urllib.parse import quote, urlencode

_STANDS_AS_IT_IS = "!$&'()*+,;=:@"  # sub-delims, ":" and "@"; quote leaves the unreserved alone


def segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe=_STANDS_AS_IT_IS)


def at(*parts: str, **query: object) -> str:
    """Return a target: the segments of a path, and a query."""
    path = "/" + "/".join(map(segment, parts))
    return f"{path}?{urlencode(query)}" if query else path
