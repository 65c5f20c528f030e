"""AUTH: who may ask what, and by which token (interface, parts 4 and 5)."""

from __future__ import annotations

from teamchat_conformance.checks.credentials import access, current_user, tokens
from teamchat_conformance.checks.credentials._area import area

__all__ = ["access", "area", "current_user", "tokens"]
