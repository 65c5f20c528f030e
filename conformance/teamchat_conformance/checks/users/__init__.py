"""USER: users, their names, how they come and go (interface, part 4, Users)."""

from __future__ import annotations

from teamchat_conformance.checks.users import adding, admins, leaving, listing, naming
from teamchat_conformance.checks.users._area import area

__all__ = ["adding", "admins", "area", "leaving", "listing", "naming"]
