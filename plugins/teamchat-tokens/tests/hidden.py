"""What the leak suite is told of tokens: they hang on no room, and nobody's are seen by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HARMLESS: Mapping[str, str] = {
    "path tokenId": "one's own tokens; any other is as none (test_tokens.py)",
    "body scopes": "which scopes there are",
    "body expiresAt": "a moment of who asks",
}
PARAMETERS: Mapping[str, str] = {"body placeIds": "room"}
GIVEN: Mapping[str, str] = {"POST /me/tokens body scopes": "read"}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """No ids of its own come of it."""
    return {}
