"""What a server may do wrong, and the checks that must name it."""

from __future__ import annotations

from conformance.tests.faults import accounts, chat, context, events, extensions, kept, rooms
from conformance.tests.faults.case import Case

CASES: dict[str, Case] = {
    f"{case.name} ({case.kind}, {case.checks[0]})": case
    for case in (
        *accounts.CASES,
        *chat.CASES,
        *context.CASES,
        *events.CASES,
        *rooms.CASES,
        *extensions.CASES,
        *kept.CASES,
    )
}
"""Every case by its name."""
