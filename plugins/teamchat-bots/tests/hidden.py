"""What the leak suite is told of bots: they are users, whom everybody sees, and their tokens are of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PLACES = "POST /bots/<botId>/tokens body placeIds"
HARMLESS: Mapping[str, str] = {
    "path botId": "every user is on everybody's list of users, and bots are users",
    _PLACES: "what the bot does not see, whoever asks, is as what is not there (test_bots.py)",
}
PARAMETERS: Mapping[str, str | None] = {_PLACES: None}
GIVEN: Mapping[str, str] = {"POST /bots/<botId>/tokens body scopes": "read"}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """No ids of its own come of it."""
    return {}
