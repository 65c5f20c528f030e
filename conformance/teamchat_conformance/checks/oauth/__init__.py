"""OAUTH: sign-in through other services (interface, part 4, OAuth endpoints; part 5, rules 13 to 15).

Where the server's limit leaves but nine sign-ins, they go to the modules in this order: what matters most
comes first.
"""

from __future__ import annotations

from teamchat_conformance.checks.oauth import (
    arriving,
    broken_providers,
    callbacks,
    limits,
    offering,
    profiles,
)
from teamchat_conformance.checks.oauth._area import area

__all__ = [
    "area",
    "arriving",
    "broken_providers",
    "callbacks",
    "limits",
    "offering",
    "profiles",
]
