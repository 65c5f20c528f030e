"""What the leak suite is told of pins: their endpoints name messages and rooms alone, and some are pinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Pin a message of a room; no ids of its own come of it."""
    await client.ok("POST", f"/messages/{ids['message'][0]}/pin")
    return {}
