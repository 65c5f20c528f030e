"""Faults of capabilities whose checks come with who brings them: what was given is lost, or told wrongly."""

from __future__ import annotations

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import accepting, rewritten, swallowed
from conformance.tests.proxy.asking import Ask
from conformance.tests.proxy.hearing import eventless, silent, twice
from conformance.tests.proxy.rooms import lost
from conformance.tests.proxy.shaping import header, refusal, telling

REPLIES = "POST /messages/:messageId/thread"
DEVICE = "POST /push/subscriptions"
FOUND = "GET /search/messages"


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

FILES = [
    together(
        found(header("POST /uploads", "Upload-Expires", None), "FILES-TUS-07"),
        found(refusal("PATCH /uploads/:uploadId", 413, 400), "FILES-TUS-08"),
        found(lost(REPLIES, "files"), "FILES-ATTACH-02"),
        found(header("GET /files/:fileId", "Content-Disposition", "attachment"), "FILES-SAFE-03"),
        found(telling("POST /files/:fileId/link", "expiresAt", 3_000_000_000_000), "FILES-LINK-02"),
    )
]


def _inside(ask: Ask) -> Ask:
    """Find the beginnings of words by two letters, and no quotes."""
    query = ask.query["q"].replace('"', "")
    return ask.asking(q="goog" if query == "go" else query)


SEARCH = [
    together(
        found(rewritten("what stands in quotes is words", FOUND, _inside), "SEARCH-TEXT-03 SEARCH-GRAM-05"),
        found(telling(FOUND, "next", "more"), "SEARCH-PAGE-03"),
        found(
            rewritten(
                "mentions: is a word", FOUND, lambda ask: ask.asking(q=ask.query["q"].replace(":", " "))
            ),
            "SEARCH-GRAM-06",
        ),
    ),
    found(telling(FOUND, "results.*.highlights", []), "SEARCH-FILE-02"),
]

OTHERS = [
    together(
        found(telling("GET /me/tokens", "tokens.*.scopes", []), "TOKENS-SHOWN-02"),
        found(swallowed("PUT /presence/me"), "PRES-STATUS-04"),
        found(lost("POST /places/:placeId/typing", "threadId"), "TYPING-TOLD-02"),
        found(lost("PUT /me/notifications", "shareTyping", "urgentFrom"), "TYPING-HIDE-02 LEVELS-SET-06"),
        found(lost("PUT /me/places/:placeId/notifications", "mutedUntil"), "LEVELS-MUTE-02"),
        found(telling("GET /me/places", "badge", 0), "READ-BADGE-02"),
        found(accepting("POST /me/second-factors", 409), "SECOND-SET-04"),
    ),
    found(silent("TYPING"), "TYPING-OFTEN-02"),
]

CASES: list[Case] = [*MESSAGES, *PEOPLE, *DEVICES, *FILES, *SEARCH, *OTHERS]
