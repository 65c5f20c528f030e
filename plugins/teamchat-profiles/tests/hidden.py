"""What the leak suite is told of profiles: they are of users, whom everybody sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TYPED = "free text of who asks"
HARMLESS: Mapping[str, str] = {
    "body fullName": _TYPED,
    "body title": _TYPED,
    "body pronouns": _TYPED,
    "body timezone": "a time zone that there is",
    "body locale": "a language that there is",
    "body emoji": _TYPED,
    "body text": _TYPED,
    "body until": "a moment of who asks",
    "query v": "a version of a picture that everybody sees",
}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """There is nothing of a room here."""
    return {}
