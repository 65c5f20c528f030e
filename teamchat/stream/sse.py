"""How an event looks on the wire (interface, part 6; decisions D-33 and D-34).

A frame is exactly ``data: <JSON>`` and an empty line; only a client that opted into resuming also gets an
``id:`` line.  Payloads arrive here encoded, and a frame is built once for all streams it goes to.
"""

from __future__ import annotations

import re

from teamchat.events import LoggedEvent

KEEP_ALIVE = b": keep-alive\n\n"
_POSITION = re.compile(r"[0-9]{1,18}\Z")


def frame(event_type: str, payload: str) -> bytes:
    """Return the frame of an event whose payload is encoded JSON; JSON holds no raw line break."""
    return f'data: {{"type":"{event_type}","payload":{payload}}}\n\n'.encode()


def with_id(position: int, plain: bytes) -> bytes:
    """Return a frame with the position that a client may resume from."""
    return b"id: %d\n" % position + plain


def read_position(last_event_id: str) -> int | None:
    """Return the position that a client says it last saw, or None if that can't be one."""
    return int(last_event_id) if _POSITION.match(last_event_id) else None


class EventFrame:
    """One event's bytes: the plain form at once, the form with an id when first asked for."""

    __slots__ = ("_identified", "plain", "position")

    def __init__(self, event: LoggedEvent) -> None:
        self.position = event.seq
        self.plain = frame(event.type, event.payload)
        self._identified: bytes | None = None

    @property
    def identified(self) -> bytes:
        if self._identified is None:
            self._identified = with_id(self.position, self.plain)
        return self._identified
