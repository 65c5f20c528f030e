"""What the leak suite is told of pushes: a subscription is its user's alone, and `why` names a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS: Mapping[str, str] = {
    "path subscriptionId": "subscription",
    "query messageId": "message",
}
HARMLESS: Mapping[str, str] = {
    "body endpoint": "an address of who asks; it becomes theirs, whosever it was, and nothing is told",
    "body keys": "keys of who asks",
    "body deviceName": "free text of who asks",
    "body language": "a language that there is",
}
_KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Subscribe a device of who sees the room, unless there is one."""
    known = (await client.ok("GET", "/push/subscriptions"))["subscriptions"]
    if not known:
        body = {"endpoint": f"https://192.0.2.1.invalid/{ids['room'][0]}", "keys": _KEYS}
        known = [(await client.ok("POST", "/push/subscriptions", body))["subscription"]]
    return {"subscription": [known[0]["id"]]}
