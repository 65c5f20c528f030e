"""PRIV: channels that their members alone see (extensions, part B, capability private-channels)."""

from __future__ import annotations

from teamchat_conformance.checks.private_channels import (
    administering,
    converting,
    hiding,
    history,
    hooks,
    making,
    telling,
)
from teamchat_conformance.checks.private_channels._area import area

__all__ = ["administering", "area", "converting", "hiding", "history", "hooks", "making", "telling"]
