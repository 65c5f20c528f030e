"""NEG: hostile and broken input, which is refused and harms nobody (interface, part 7)."""

from __future__ import annotations

from teamchat_conformance.checks.hostile import (
    bodies,
    held,
    injections,
    odd_ids,
    owners,
    races,
    sizes,
    texts,
    transport,
    types,
)
from teamchat_conformance.checks.hostile._area import area

__all__ = [
    "area",
    "bodies",
    "held",
    "injections",
    "odd_ids",
    "owners",
    "races",
    "sizes",
    "texts",
    "transport",
    "types",
]
