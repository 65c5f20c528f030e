"""The checks, an area of the interface each, in the order in which they run."""

from __future__ import annotations

from teamchat_conformance.checks import health
from teamchat_conformance.registry import Area

AREAS: tuple[Area, ...] = (health.area,)
