"""What is left of an event's payload when its message was edited or deleted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

_encode = msgspec.json.Encoder().encode
_STAYS = frozenset(
    {
        *("id", "channelId", "author", "createdAt", "updatedAt", "threadId", "threadMeta", "participants"),
    }
)
"""The fields of a message that hold nothing of what was said."""
_decode = msgspec.json.Decoder().decode


def blanked(payload: str, fields: Sequence[str] | None = None) -> str:
    """Return what is left of a payload that carries what was said: no text, no images, no reactions.

    Nor what capabilities have added to the message: nobody knows what of it was said.  Everything else stays,
    so that a client can read it as any other of its type.  With `fields` the message itself is still there,
    and nothing but those of its fields goes.
    """
    event = _decode(payload)
    if not isinstance(event, dict):
        return "{}"  # A plugin's: nobody knows what of it was said.
    said = event.get("reply")
    if not isinstance(said, dict):
        said = event
    if fields is not None:
        for name in fields:
            said.pop(name, None)
        return _encode(event).decode()
    if "author" in said:  # A message; any other payload is a plugin's, and says itself what it has.
        for name in said.keys() - _STAYS:
            del said[name]
    said.pop("images", None)
    said["content"] = ""
    said["reactions"] = {}
    return _encode(event).decode()
