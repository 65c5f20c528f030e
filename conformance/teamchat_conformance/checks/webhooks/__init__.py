"""HOOK: webhooks, and what they post (interface, part 4, Webhooks)."""

from __future__ import annotations

from teamchat_conformance.checks.webhooks import managing, posting
from teamchat_conformance.checks.webhooks._area import area

__all__ = ["area", "managing", "posting"]
