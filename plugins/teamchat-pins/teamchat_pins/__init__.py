"""Pinned messages: the capability `pins`, version 1 (extension H-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, MessageFields, Parts, hookimpl
from teamchat_pins.endpoints import section_for
from teamchat_pins.events import MessagePinned, MessageUnpinned
from teamchat_pins.exported import PinsExported
from teamchat_pins.pins import POLICIES, PinFields, Pins, PinsOptions, are_pinned, read_fields
from teamchat_pins.tables import CHECKS, MIGRATIONS, MOST_PINS

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, options: PinsOptions) -> Parts:
    """Return what the capability brings to one server."""
    pins = Pins(app, by_managers=options.pin_policy == "managers")
    return Parts(
        limits={"perPlace": MOST_PINS, "pinPolicy": POLICIES[options.pin_policy]},
        routes=[section_for(pins)],
        message_fields=MessageFields(kind=PinFields, read=read_fields),
        message_tests={"has:pin": are_pinned},
    )


PINS = Capability(
    name="pins",
    version=1,
    options=PinsOptions,
    tables=MIGRATIONS,
    events=[MessagePinned, MessageUnpinned],
    checks=CHECKS,
    export=PinsExported(),
    client="client",
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [PINS]
