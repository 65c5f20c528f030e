"""What the leak suite is told of quotes: what is posted may name any message, and one is quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS: Mapping[str, str] = {"body quotedMessageId": "message"}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Quote a message of a room in its thread, once; a direct conversation has none."""
    [room, *_] = ids["room"]
    if room.startswith("dm:"):
        return {}
    body = {"content": "about that", "quotedMessageId": ids["message"][0]}
    path = f"/messages/{ids['message'][0]}/thread"
    await client.ok("POST", path, body, headers=[("idempotency-key", f"quote {ids['message'][0]}")])
    return {}
