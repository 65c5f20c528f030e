"""Health: whether the server answers."""

from __future__ import annotations

from teamchat.web.endpoints import Section

section = Section("health")


@section.endpoint("GET", "/health", answer=str, open=True)
async def health() -> str:
    """Say OK."""
    return "OK"
