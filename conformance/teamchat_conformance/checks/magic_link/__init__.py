"""MAGIC: sign-in by a link in a mail (interface, part 4, Sign-in endpoints; part 5, rule 2)."""

from __future__ import annotations

from teamchat_conformance.checks.magic_link import asking, mails, verifying
from teamchat_conformance.checks.magic_link._area import area

__all__ = ["area", "asking", "mails", "verifying"]
