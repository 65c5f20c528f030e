"""What the leak suite is told of second factors: one is its user's alone, and nobody else's exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PARAMETERS: Mapping[str, str] = {"path factorId": "factor"}
HARMLESS: Mapping[str, str] = {
    "body type": "a kind of factor that there is",
    "body password": "the password of who asks",
    "body code": "a code of who asks",
    "body ticket": "what a sign-in was answered with; nobody makes one without the server's key",
}
BY_THE_MOMENT: Mapping[tuple[str, str], str] = {
    (
        "PUT /me/second-factors/<factorId>",
        "path factorId",
    ): "a code of half a minute: tests/second_factor"
}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Begin a factor, which counts for nothing yet."""
    begun = await client.ok("POST", "/me/second-factors", {"type": "totp"})
    return {"factor": [begun["id"]]}
