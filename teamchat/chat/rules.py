"""The rules for every message that is posted or edited, and the capabilities that take part."""

from __future__ import annotations

from typing import NamedTuple

from teamchat.capabilities import Capabilities


class Rules(NamedTuple):
    """`most` is the greatest length of a message's content, in characters (decision D-04)."""

    most: int
    capabilities: Capabilities
