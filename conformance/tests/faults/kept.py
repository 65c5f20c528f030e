"""Faults of capabilities whose checks come with who brings them: what was given is lost, or told wrongly."""

from __future__ import annotations

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import accepting, rewritten, swallowed
from conformance.tests.proxy.asking import Ask
from conformance.tests.proxy.hearing import eventless, twice
from conformance.tests.proxy.rooms import lost
from conformance.tests.proxy.shaping import telling

REPLIES = "POST /messages/:messageId/thread"
DEVICE = "POST /push/subscriptions"


def _first_keys(ask: Ask) -> Ask:
    return ask.saying(keys=ask.proxy.kept.setdefault(ask.json["endpoint"], ask.json["keys"]))


MESSAGES = [
    together(
        found(lost("PUT /me/drafts/:draftId", "threadId", "entities", "files"), "DRAFT-SAVE-04"),
        found(lost(REPLIES, "draftId", "quotedMessageId"), "DRAFT-GONE-02 QUOTE-SAME-03"),
        found(eventless("MESSAGE_UNPINNED", "placeId"), "PIN-TOLD-01"),
        found(lost("PUT /me/saved/:messageId", "remindAt"), "SAVED-KEEP-04"),
        found(twice("SAVED_CHANGED"), "SAVED-TOLD-02"),
        found(telling("GET /messages/:messageId/history", "revisions.*.entities", []), "HISTORY-READ-04"),
    ),
    found(eventless("SAVED_CHANGED", "remindAt"), "SAVED-TOLD-01"),
]

PEOPLE = [
    together(
        found(lost("PUT /me/profile", "timezone"), "PROF-PUT-01"),
        found(
            rewritten("faces have one size", "GET /users/:id/avatar", lambda ask: ask.asking(size="64")),
            "PROF-FACE-01",
        ),
        found(swallowed("DELETE /me/avatar"), "PROF-FACE-05"),
    )
]

DEVICES = [
    found(rewritten("a new key of a device is lost", DEVICE, _first_keys), "PUSH-SUB-10"),
    found(lost("PUT /me/places/:placeId/notifications", "isMuted"), "PUSH-QUIET-03"),
    found(accepting(DEVICE), "PUSH-SUB-12"),
]

CASES: list[Case] = [*MESSAGES, *PEOPLE, *DEVICES]
