"""What the leak suite is told of saved messages: their endpoints name messages alone, and some are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HARMLESS: Mapping[str, str] = {
    "body note": "free text of who asks",
    "body remindAt": "a moment of who asks",
}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Save a message of a room, unless one is saved; no ids of its own come of it."""
    saved = (await client.ok("GET", "/me/saved"))["items"]
    if ids["room"][0] in [one["message"]["channelId"] for one in saved]:
        return {}
    await client.ok("PUT", f"/me/saved/{ids['message'][0]}", {"note": "for later"})
    return {}
