"""GRP: groups of two to nine people (extensions, part C, capability groups)."""

from __future__ import annotations

from teamchat_conformance.checks.groups import converting, making, pairs, people
from teamchat_conformance.checks.groups._area import area

__all__ = ["area", "converting", "making", "pairs", "people"]
