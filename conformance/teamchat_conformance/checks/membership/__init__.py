"""MEM: who is in a channel (extensions, part B, capability membership)."""

from __future__ import annotations

from teamchat_conformance.checks.membership import making, managing, members, telling
from teamchat_conformance.checks.membership._area import area

__all__ = ["area", "making", "managing", "members", "telling"]
