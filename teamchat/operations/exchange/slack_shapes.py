"""What is read of Slack's records, and of which type it must be.

What must stay true: a record that has one of these shapes can be brought over without another look at its
types; one that has not is left out, and the report says where it stood.  What is not read may be anything.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

Seconds = Annotated[int, Meta(ge=0, le=100_000_000_000)]
Ts = Annotated[str, Meta(pattern=r"^[0-9]{1,11}(\.[0-9]{1,9})?\Z")]
"""A time in seconds, which is also what a message is known by in its channel."""


class Profile(Struct):
    display_name: str | None = None
    real_name: str | None = None
    name: str | None = None
    email: str | None = None


class User(Struct):
    """A record of ``users.json``."""

    id: str
    name: str | None = None
    real_name: str | None = None
    profile: Profile | None = None
    updated: Seconds | None = None


class Channel(Struct):
    """A record of ``channels.json``, ``groups.json`` or ``mpims.json``."""

    id: str
    name: str
    created: Seconds | None = None


class Conversation(Struct):
    """A record of ``dms.json``."""

    id: str
    members: list[str] | None = None
    created: Seconds | None = None


class Reaction(Struct):
    name: str | None = None
    users: list[str] | None = None


class File(Struct):
    id: str | None = None
    name: str | None = None
    title: str | None = None


class Edited(Struct):
    ts: Ts | None = None


class Said(Struct):
    """A record of a day of a channel."""

    ts: Ts
    thread_ts: Ts | msgspec.UnsetType = msgspec.UNSET
    type: str = "message"
    subtype: str | None = None
    user: str | None = None
    text: str | None = None
    username: str | None = None
    bot_id: str | None = None
    bot_profile: Profile | None = None
    user_profile: Profile | None = None
    reactions: list[Reaction] | None = None
    files: list[File] | None = None
    edited: Edited | None = None


LISTS: dict[str, type[Struct]] = {
    "users.json": User,
    "channels.json": Channel,
    "groups.json": Channel,
    "mpims.json": Channel,
    "dms.json": Conversation,
}


def has_shape(record: dict[str, Any], shape: type[Struct]) -> bool:
    """Tell whether everything that is read of a record is of its type."""
    try:
        msgspec.convert(record, shape)
    except msgspec.ValidationError:
        return False
    return True
