"""What a device says it has shown, or wants to be unread: of places and of threads alike."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

Generation = Annotated[int, Meta(ge=0, lt=2**53)]


class Reading(Struct, frozen=True):
    """Up to which message it was shown; `generation` is the one that the device knew of."""

    position: str
    generation: Generation | None = None


class Unreading(Struct, frozen=True):
    """The first message that is to be unread."""

    first: str = field(name="from")
