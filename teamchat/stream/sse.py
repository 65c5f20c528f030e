"""How events look on the wire (interface, part 6; decisions D-33 and D-34).

A frame is exactly ``data: <JSON>`` and an empty line; only a client that opted into resuming also gets an
``id:`` line. Payloads are already encoded when they get here. A frame is built once, and so is each form in
which a `Batch` of frames is sent: with or without ids, as a chunk or bare.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from teamchat.events import LoggedEvent, blanked

KEEP_ALIVE = b": keep-alive\n\n"
_POSITION = re.compile(r"[0-9]{1,18}\Z")

WITH_IDS = 1
CHUNKED = 2
"""The forms of a batch are sums of these."""


class _Framed(msgspec.Struct):
    type: str
    payload: msgspec.Raw


_decode = msgspec.json.Decoder(_Framed).decode


def frame(event_type: str, payload: str) -> bytes:
    """Return the frame of an event whose payload is encoded JSON; JSON holds no raw line break."""
    return f'data: {{"type":"{event_type}","payload":{payload}}}\n\n'.encode()


def with_id(position: int, plain: bytes) -> bytes:
    """Return a frame with the position that a client may resume from."""
    return b"id: %d\n" % position + plain


def chunk(data: bytes) -> bytes:
    """Return `data`, which is not empty, as a chunk of an HTTP/1.1 body (RFC 9112, section 7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def retry(milliseconds: int) -> bytes:
    """Return the line that tells a client how long to wait before it comes back."""
    return b"retry: %d\n\n" % milliseconds


def read_position(last_event_id: str) -> int | None:
    """Return the position that a client says it last saw, or None if that can't be one."""
    return int(last_event_id) if _POSITION.match(last_event_id) else None


class Frame:
    """One event, framed: the plain form at once, the form with an id when first asked for."""

    __slots__ = ("_identified", "audience", "plain", "position", "text_message", "text_room")

    def __init__(self, event: LoggedEvent) -> None:
        self.position = event.seq
        self.audience = event.audience
        self.text_room = event.text_room
        self.text_message = event.text_message
        self.plain = frame(event.type, event.payload)
        self._identified: bytes | None = None

    @property
    def identified(self) -> bytes:
        if self._identified is None:
            self._identified = with_id(self.position, self.plain)
        return self._identified

    def blank(self, fields: Sequence[str] | None = None) -> None:
        """Let go of what was said: the message was deleted, or edited; or of some fields of it alone."""
        event = _decode(self.plain.removeprefix(b"data: "))
        self.plain = frame(event.type, blanked(bytes(event.payload).decode(), fields))
        self._identified = None
        if fields is None:
            self.text_room = self.text_message = None


class SharedBytes:
    """Bytes that wait for some clients, and for how many: what several wait for is in memory once.

    `after` is the position in the log behind which their events stand, None of what is no event, or in parts.
    """

    __slots__ = ("after", "data", "holders")

    def __init__(self, data: bytes, after: int | None = None) -> None:
        self.data = data
        self.after = after
        self.holders = 0


class Batch(dict[int, SharedBytes]):
    """Frames that leave together, in each form made when a first stream needs it, and then shared."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self._frames = frames

    def __missing__(self, form: int) -> SharedBytes:
        frames = self._frames
        bare = b"".join([each.identified if form & WITH_IDS else each.plain for each in frames])
        data = chunk(bare) if form & CHUNKED else bare
        shared = self[form] = SharedBytes(data, frames[0].position - 1)
        return shared


class Comment(Batch):
    """Bytes that are no event and look the same with and without ids."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __missing__(self, form: int) -> SharedBytes:
        shared = self[form] = SharedBytes(chunk(self._data) if form & CHUNKED else self._data)
        return shared
