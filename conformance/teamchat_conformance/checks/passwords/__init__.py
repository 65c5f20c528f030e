"""PWD: sign-in by password, invitations, resets, registration (interface, part 4; part 5, rules 3 to 8)."""

from __future__ import annotations

from teamchat_conformance.checks.passwords import (
    admin_resets,
    asking_in,
    changing,
    kinds,
    registering,
    resetting,
    setting_up,
)
from teamchat_conformance.checks.passwords._area import area

__all__ = ["admin_resets", "area", "asking_in", "changing", "kinds", "registering", "resetting", "setting_up"]
