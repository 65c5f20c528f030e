"""The area, the checks that programs decide, and what is wrong when they are not as the model says."""

from __future__ import annotations

from teamchat_conformance.registry import Area

area = Area("PROP", "Properties")

area.required("PROP-MODEL-01", "§4 Channels", "Under random programs the channels are those of the model")
area.required("PROP-MODEL-02", "§4 Channel messages", "So are the messages: ids, contents, authors, edits")
area.required("PROP-MODEL-03", "§2 Message", "So are the reactions of every message")
area.required("PROP-MODEL-04", "§2 Thread", "So are replies, and threadMeta is what follows from them")
area.required("PROP-MODEL-05", "§4 Conversations", "So are conversations, for both; outsiders are refused")
area.required("PROP-MODEL-06", "§4 Webhooks", "So are webhooks and what they post")
area.required("PROP-MODEL-07", "§4 Users", "So are the users that were added, renamed, removed, or left")
area.required("PROP-MODEL-08", "§2 Channel", "Nothing of a deleted channel can be reached")
area.required("PROP-MODEL-09", "§7", "Who may do what is as the table of permissions says; a refusal is one")
area.recommended("PROP-EVT-01", "D-35", "An observer who folds its events has the state that is read")
area.recommended(
    "PROP-EVT-02", "D-35, D-36", "Every step sends its event once to each entitled, and to none else"
)
area.required("PROP-EVT-03", "D-35", "On every stream a thing's events come in the order of the steps")
area.required("PROP-EVT-04", "§6", "No text of a direct message reaches an outsider's stream")
area.recommended("PROP-EVT-06", "§6", "threadMeta in thread events is what the model says at that step")

DECIDED_BY_PROGRAMS = tuple(area.checks)


ODD = (LookupError, TypeError, AttributeError, ValueError, StopIteration)
"""What comes of reading an answer or an event that has not the form it should have."""


class Wrong(AssertionError):
    """The server is not as the model. `check` is the id of the check that this fails."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(message)
        self.check = check
