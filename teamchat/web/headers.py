"""The headers every response has, and those that answer preflights (decision D-06).

They are added where the response leaves, so errors and plugins' pages have them too; a response that sets one
of the defaults itself keeps its own. Origins are compared as a whole. Credentials are never allowed, because
no endpoint accepts a cookie from another site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from teamchat.web.asgi import RawHeaders

if TYPE_CHECKING:
    from teamchat.settings import Settings

REQUEST_ID = "teamchat.request_id"
"""Where the scope of a request holds its name."""

_DEFAULTS: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_EXPOSED = (
    b"access-control-expose-headers",
    b"ETag, Retry-After, Allow, X-Request-Id, Location, WWW-Authenticate, Accept-Ranges, Content-Range, "
    b"Content-Disposition, "
    b"Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, Tus-Checksum-Algorithm, "
    b"Upload-Offset, Upload-Length, Upload-Expires",
)
_PREFLIGHT: RawHeaders = [
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, "
        b"Range, If-Range, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, Upload-Checksum",
    ),
    (b"access-control-max-age", b"600"),
]


class Headers:
    """What the settings say of other origins, ready to be put on responses."""

    def __init__(self, settings: Settings) -> None:
        own = urlsplit(settings.auth.app_url)
        origins = [*settings.server.allowed_origins, f"{own.scheme}://{own.netloc}"]
        self._origins = {_normal(origin).encode() for origin in origins}

    @property
    def others_are_allowed(self) -> bool:
        """Whether pages of more than one origin may use this server."""
        return len(self._origins) > 1

    def finish(self, scope: Any, headers: RawHeaders) -> RawHeaders:
        """Return a response's headers with the defaults and those for the request's origin added."""
        raw = list(headers)
        names = {name.lower() for name, _ in raw}
        raw += [default for default in _DEFAULTS if default[0] not in names]
        if (name := scope.get(REQUEST_ID)) is not None:
            raw.append((b"x-request-id", name))
        return raw + self.for_origin(scope)

    def for_origin(self, scope: Any) -> RawHeaders:
        """Return the CORS headers for this request."""
        origin = _value(scope, b"origin")
        if origin is None or not self._allows(origin):
            return [(b"vary", b"Origin")]
        return [(b"vary", b"Origin"), (b"access-control-allow-origin", origin), _EXPOSED]

    def preflight(self, scope: Any) -> RawHeaders:
        """Return what answers a preflight: what pages of the origin may do, if anything."""
        origin = _value(scope, b"origin")
        return [*_PREFLIGHT] if origin is not None and self._allows(origin) else []

    def _allows(self, origin: bytes) -> bool:
        return origin in self._origins or b"*" in self._origins


def is_preflight(scope: Any) -> bool:
    """Return whether a browser asks on behalf of a page."""
    return scope["method"] == "OPTIONS" and _value(scope, b"access-control-request-method") is not None


def _normal(origin: str) -> str:
    """Return an origin as browsers send it: lower case, no path, no default port."""
    parts = urlsplit(origin)
    if not parts.netloc:
        return origin
    scheme, netloc = parts.scheme.lower(), parts.netloc.lower()
    return f"{scheme}://{netloc.removesuffix({'http': ':80', 'https': ':443'}.get(scheme, ':'))}"


def _value(scope: Any, wanted: bytes) -> bytes | None:
    for name, value in scope["headers"]:
        if name == wanted:
            return bytes(value)
    return None
