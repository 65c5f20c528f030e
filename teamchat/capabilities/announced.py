"""What ``GET /capabilities`` answers (extensions A-1 to A-4)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Links(Struct, frozen=True):
    """Where its documentation is."""

    openapi: str = "/openapi.json"


class Announced(Struct, frozen=True):
    """The capabilities of the server by their names, each with its version and its limits."""

    capabilities: Mapping[str, Mapping[str, int]]
    links: Links = field(default_factory=Links)
