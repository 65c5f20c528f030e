"""What holds for every message that is posted or edited, and who takes part in that."""

from __future__ import annotations

from typing import NamedTuple

from teamchat.capabilities import Capabilities


class Rules(NamedTuple):
    """`most` is the greatest length of a message's content, in characters (decision D-04)."""

    most: int
    capabilities: Capabilities
