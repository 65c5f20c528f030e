"""Identifiers that sort by the time they were made (UUIDv7, RFC 9562 section 5.7).

Within one process each id is greater than every id made before it, even if the clock stands still or goes
back. A page of messages is ordered by id alone. So a message's id is made inside the writing transaction,
where bodies run one after another, and is greater than the last one of its room or thread (`new_id_after`),
whichever process made that one, and by whatever clock.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from threading import Lock

CONVERSATION_PREFIX = "dm:"
_SHAPE = re.compile(r"(?:dm:)?[0-9a-f]{32}\Z")
_RANDOM_BITS = 74
_MOST_AHEAD = 24 * 3600 * 1000 << _RANDOM_BITS

_lock = Lock()
_last = 0


def new_id() -> str:
    """Return a new id: 32 lower-case hexadecimal digits that URLs need not escape (decision D-07)."""
    return _as_uuid7(_next())


def new_id_after(last: str | None) -> str:
    """Return a new id that is greater than `last`, though that was made by a clock which is ahead.

    A `last` of more than a day in the future says nothing of order: such a message was brought in so.
    """
    made = _next()
    if last is not None and made <= (reached := _counter_of(last)) < made + _MOST_AHEAD:
        made = reached + 1 + secrets.randbits(64)
    return _as_uuid7(made)


def _next() -> int:
    global _last
    with _lock:
        fresh = (time.time_ns() // 1_000_000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS - 1)
        # Within one millisecond (or after the clock stepped back) go on from the last id by a random step,
        # so that ids stay in order and still can't be guessed from one another.
        _last = fresh if fresh > _last else _last + 1 + secrets.randbits(64)
        return _last


def id_at(milliseconds: int, about: str, within: int = 0) -> str:
    """Return the id of what was made elsewhere, at that time: for the same time and `about` the same id.

    `within`, below 1024, orders what was made in the same millisecond.
    """
    digest = int.from_bytes(hashlib.sha256(about.encode()).digest()[:8])
    return _as_uuid7(milliseconds << _RANDOM_BITS | within << 64 | digest)


def new_conversation_id() -> str:
    """Return a new conversation id; it begins with ``dm:`` (decision D-07)."""
    return CONVERSATION_PREFIX + new_id()


def is_conversation_id(text: str) -> bool:
    """Return whether an id names a conversation, as against a channel."""
    return text.startswith(CONVERSATION_PREFIX)


def could_be_id(text: str) -> bool:
    """Return whether a string has the shape of an id (decision D-08: a cursor that can't be one is 400)."""
    return _SHAPE.match(text) is not None


def _as_uuid7(counter: int) -> str:
    """Lay 48 bits of time and 74 bits of counter out with UUIDv7's version and variant bits."""
    milliseconds, rest = counter >> _RANDOM_BITS, counter & ((1 << _RANDOM_BITS) - 1)
    high, low = rest >> 62, rest & ((1 << 62) - 1)
    return f"{milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low:032x}"


def _counter_of(uuid7: str) -> int:
    """Read what `_as_uuid7` has laid out."""
    value = int(uuid7, 16)
    high, low = value >> 64 & 0xFFF, value & ((1 << 62) - 1)
    return value >> 80 << _RANDOM_BITS | high << 62 | low
