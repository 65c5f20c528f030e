"""MSG: channel messages (interface, part 4, Channel messages)."""

from __future__ import annotations

from teamchat_conformance.checks.messages import deleting, editing, paging, posting, repeating
from teamchat_conformance.checks.messages._area import area

__all__ = ["area", "deleting", "editing", "paging", "posting", "repeating"]
