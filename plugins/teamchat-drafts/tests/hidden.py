"""What the leak suite is told of drafts: they name a place, a thread and what they quote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

PARAMETERS: Mapping[str, str] = {
    "body placeId": "room",
    "body threadId": "message",
    "body quotedMessageId": "message",
}
HARMLESS: Mapping[str, str] = {
    "path draftId": "an id that who asks has made",
    "body entities": "they are judged when the message is posted",
    "body files": "they are judged when the message is posted",
}
GIVEN: Mapping[str, Callable[[], str]] = {
    f"{method} /me/drafts/<draftId> path draftId": lambda: str(uuid4()) for method in ("GET", "PUT", "DELETE")
}
HEADERS: Mapping[str, Mapping[str, str]] = {"PUT /me/drafts/<draftId>": {"if-none-match": "*"}}


async def fill(client: Any, base: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Leave a draft in a room, unless there is one; its id is the user's own."""
    [room] = ids["room"]
    body = {
        "placeId": room,
        "content": "only for those who are in here",
        "quotedMessageId": ids["message"][0],
    }
    path = f"/me/drafts/{uuid5(NAMESPACE_OID, room)}"
    answer = await client.call("PUT", path, body, headers=[("if-none-match", "*")])
    assert answer.status in (200, 412)
    return {}
