"""The client over HTTP: three pages at fixed addresses, and the files of this version, for ever.

Pages are asked for anew each time (they name the version); files are immutable, and an address of another
version gives 404 rather than a file that does not fit.  The index may load scripts, styles, images and data
from its own origin alone; nothing inline, no plugins, no frames, and scripts make no markup out of text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from teamchat import NotFound
from teamchat.web import Request, Response, Section
from teamchat_web.site import INDEX, MANIFEST, WORKER

if TYPE_CHECKING:
    from teamchat_web.site import File, Site

_CSP = "Content-Security-Policy"
_FRESH = "no-cache"
_FOREVER = "public, max-age=31536000, immutable"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'{api}; media-src 'self'{api}; manifest-src 'self'; worker-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types teamchat"
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


def section(site: Site) -> Section:
    """Return the endpoints that serve `site`."""
    pages = Section("web")
    headers = index_headers()

    @pages.endpoint("GET", "/", answer="text/html", open=True, static=True)
    async def index(request: Request) -> Response:
        """Read the page."""
        return _answer(request, site.pages[INDEX], _FRESH, headers)

    @pages.endpoint("GET", f"/{MANIFEST}", answer="application/manifest+json", open=True, static=True)
    async def manifest(request: Request) -> Response:
        """Read what a device needs to install the client."""
        return _answer(request, site.pages[MANIFEST], _FRESH)

    @pages.endpoint("GET", f"/{WORKER}", answer="text/javascript", open=True, static=True)
    async def worker(request: Request) -> Response:
        """Read the service worker."""
        return _answer(request, site.pages[WORKER], _FRESH, {_CSP: headers[_CSP]})

    @pages.endpoint("GET", "/client/:digest/<path:path>", open=True, static=True)
    async def file(request: Request, digest: str, path: str) -> Response:
        """Read a file of this version."""
        found = site.files.get(path) if digest == site.digest else None
        if found is None:
            raise NotFound
        return _answer(request, found, _FOREVER)

    return pages


def _answer(request: Request, file: File, cache: str, more: Mapping[str, str] | None = None) -> Response:
    """Return the response to a request: whole, or as gzip."""
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding", **(more or {})}
    if file.packed is None or request.preferred_coding("gzip") is None:
        return Response(file.body, file.content_type, headers=headers, etag=file.tag)
    headers["Content-Encoding"] = "gzip"
    return Response(file.packed, file.content_type, headers=headers, etag=f"{file.tag}-gzip")
