"""CONV: conversations and direct messages (interface, part 4, Conversations)."""

from __future__ import annotations

from teamchat_conformance.checks.conversations import changing, opening, reading
from teamchat_conformance.checks.conversations._area import area

__all__ = ["area", "changing", "opening", "reading"]
