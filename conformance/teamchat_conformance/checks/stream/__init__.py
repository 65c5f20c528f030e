"""SSE: the event stream itself (interface, part 4, Event stream; part 5, rule 17; part 6)."""

from __future__ import annotations

from teamchat_conformance.checks.stream import (
    direct,
    everyone,
    frames,
    lasting,
    load,
    opening,
    order,
    resuming,
)
from teamchat_conformance.checks.stream._area import area

__all__ = ["area", "direct", "everyone", "frames", "lasting", "load", "opening", "order", "resuming"]
