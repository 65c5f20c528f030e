"""What the leak suite is told of presence and typing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS: Mapping[str, str] = {"body threadId": "message"}
HARMLESS: Mapping[str, str] = {
    "query userIds": "every user is on everybody's list of users",
    "body status": "what others are told of who asks",
}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Add nothing: there are no things of presence that have ids."""
    return {}
