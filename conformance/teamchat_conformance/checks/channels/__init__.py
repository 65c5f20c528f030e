"""CHAN: channels (interface, part 4, Channels)."""

from __future__ import annotations

from teamchat_conformance.checks.channels import deleting, naming
from teamchat_conformance.checks.channels._area import area

__all__ = ["area", "deleting", "naming"]
