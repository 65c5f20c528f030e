"""What streams are told of people, as signals: nothing of it is in the log (extension I-3)."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from teamchat import Signal


class PresenceUpdate(Signal, frozen=True):
    """A user is here now, away or gone. `last_seen` is in epoch milliseconds, rounded to the minute."""

    type = "PRESENCE_UPDATE"
    asked_as = "presence"
    latest_of = ("user_id",)
    user_id: str
    status: str
    is_dnd: bool | UnsetType = UNSET
    last_seen: int | UnsetType = UNSET


class Typing(Signal, frozen=True):
    """A user types in a place until then (epoch milliseconds) unless it is told again; now means no more."""

    type = "TYPING"
    asked_as = "typing"
    latest_of = ("place_id", "thread_id", "user_id")
    watched_in = "place_id"
    done_by = "user_id"
    place_id: str
    thread_id: str | None
    user_id: str
    until: int
