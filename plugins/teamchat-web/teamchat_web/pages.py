"""The client over HTTP: three pages at fixed addresses, and the files of this version, for ever.

Pages are asked for anew each time (they name the version); files are immutable, and an address of another
version gives 404 rather than a file that does not fit.  The index may load scripts, styles, images and data
from its own origin alone; nothing inline, no plugins, no frames, and scripts make no markup out of text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quart import Blueprint, request
from quart_trio import QuartTrio

from teamchat import NotFound
from teamchat_web.site import INDEX, MANIFEST, WORKER

if TYPE_CHECKING:
    from quart import Response

    from teamchat_web.site import File, Site

_CSP = "Content-Security-Policy"
_FRESH = "no-cache"
_FOREVER = "public, max-age=31536000, immutable"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'{api}; manifest-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types teamchat"
)
_UNUSED = ("camera", "display-capture", "geolocation", "microphone", "payment", "serial", "usb")


def index_headers(api: str = "") -> dict[str, str]:
    """Return the headers the index needs; `api` is the origin of the server where that is another."""
    return {
        _CSP: _POLICY.format(api=f" {api}" if api else ""),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def blueprint(site: Site) -> Blueprint:
    """Return the routes that serve `site`."""
    routes = Blueprint("web", __name__)
    headers = index_headers()

    @routes.get("/")
    async def index() -> Response:
        return _answer(site.pages[INDEX], _FRESH, headers)

    @routes.get(f"/{MANIFEST}")
    async def manifest() -> Response:
        return _answer(site.pages[MANIFEST], _FRESH)

    @routes.get(f"/{WORKER}")
    async def worker() -> Response:
        return _answer(site.pages[WORKER], _FRESH, {_CSP: headers[_CSP]})

    @routes.get("/client/<digest>/<path:path>")
    async def file(digest: str, path: str) -> Response:
        found = site.files.get(path) if digest == site.digest else None
        if found is None:
            raise NotFound
        return _answer(found, _FOREVER)

    return routes


def _answer(file: File, cache: str, more: Mapping[str, str] | None = None) -> Response:
    """Return a response to the request at hand: whole or as gzip, or 304 for a client that has it."""
    packed = file.packed if request.accept_encodings["gzip"] > 0 else None
    tag = f'"{file.tag}-gzip"' if packed is not None else f'"{file.tag}"'
    headers = {"Cache-Control": cache, "ETag": tag, "Vary": "Accept-Encoding", **(more or {})}
    if request.if_none_match.contains_weak(tag.strip('"')):
        response = QuartTrio.response_class(b"", 304, headers)
        del response.headers["Content-Type"]
        return response
    if packed is not None:
        headers["Content-Encoding"] = "gzip"
    body = file.body if packed is None else packed
    return QuartTrio.response_class(body, headers=headers, content_type=file.content_type)
