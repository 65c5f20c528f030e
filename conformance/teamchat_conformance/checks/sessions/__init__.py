"""SESS: refresh, sign-out, the list of sessions, their limit (interface, part 4; part 5, rules 11 and 12)."""

from __future__ import annotations

from teamchat_conformance.checks.sessions import ending, lasting, limits, listing, refreshing
from teamchat_conformance.checks.sessions._area import area

__all__ = ["area", "ending", "lasting", "limits", "listing", "refreshing"]
