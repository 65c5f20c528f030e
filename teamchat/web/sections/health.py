"""Health: whether the server answers. Readiness: whether it should be sent requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat.web.endpoints import Section

if TYPE_CHECKING:
    from teamchat.web.site import Site

section = Section("health")


@section.endpoint("GET", "/health", answer=str, open=True)
async def health() -> str:
    """Say OK."""
    return "OK"


@section.endpoint("GET", "/ready", answer=str, open=True)
async def ready(site: Site) -> str:
    """Say OK if the server should be sent requests: its storage answers, and it is not shutting down."""
    await site.readiness.check()
    return "OK"
