"""What is read of Slack's records, and which types it must have.

A record with one of these shapes can be imported without checking its types again. Any other is left out, and
the report says where it was. Fields that are not read may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    title: str | None = None
    pronouns: str | None = None


class User(Struct):
    """A record of ``users.json``."""

    id: str
    name: str | None = None
    real_name: str | None = None
    profile: Profile | None = None
    tz: str | None = None
    updated: Seconds | None = None
    is_restricted: bool | None = None
    is_ultra_restricted: bool | None = None


class Note(Struct):
    """A topic or a purpose."""

    value: str | None = None


class Channel(Struct):
    """A record of ``channels.json``, ``groups.json`` or ``mpims.json``."""

    id: str
    name: str
    created: Seconds | None = None
    creator: str | None = None
    is_archived: bool | None = None
    is_general: bool | None = None
    members: list[str] | None = None
    topic: Note | None = None
    purpose: Note | None = None


class Pin(Struct):
    """What stands in ``pins`` of a channel or conversation: the message's time, who has pinned it, and when.

    Each is judged by itself, so that an odd one takes no channel with it.
    """

    id: Ts
    user: str | None = None
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
    user: str | None = None
    mimetype: str | None = None
    mode: str | None = None
    is_external: bool | None = None


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
    file: File | None = None
    edited: Edited | None = None


class Shared(Struct):
    """An attachment that is another message: one that was shared, or that a link leads to."""

    channel_id: str
    ts: Ts
    is_share: bool = False
    is_msg_unfurl: bool = False


SAID = {None, "bot_message", "me_message", "file_share", "file_comment", "thread_broadcast", "tombstone",
        "slackbot_response", "assistant_app_thread"}  # fmt: skip
"""The subtypes of what somebody said (Slack's documentation of the event ``message``)."""
NOTICES = {
    *("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name", "channel_archive"),
    *("channel_unarchive", "channel_convert_to_private", "channel_posting_permissions"),
    *("channel_canvas_updated", "tabbed_canvas_updated", "group_join", "group_leave", "group_topic"),
    *("group_purpose", "group_name", "group_archive", "group_unarchive", "bot_add", "bot_remove"),
    *("bot_enable", "bot_disable", "app_conversation_join", "app_conversation_leave", "pinned_item"),
    *("unpinned_item", "reminder_add", "joiner_notification", "huddle_thread", "sh_room_created"),
    *("ekm_access_denied", "message_changed", "message_deleted", "message_replied", "file_mention"),
}
"""The subtypes of what Slack told by itself."""
LISTS: dict[str, type[Struct]] = {
    "users.json": User,
    "org_users.json": User,
    "channels.json": Channel,
    "groups.json": Channel,
    "mpims.json": Channel,
    "dms.json": Conversation,
}


def has_shape(record: Any, shape: type[Struct]) -> bool:
    """Return whether everything that is read of a record is of its type."""
    try:
        msgspec.convert(record, shape)
    except msgspec.ValidationError:
        return False
    return True


def shared_in(record: dict[str, Any]) -> Iterator[Shared]:
    """Yield the messages that one shares; attachments of any other shape are passed over."""
    attached = record.get("attachments")
    for one in attached if isinstance(attached, list) else ():
        try:
            shared = msgspec.convert(one, Shared)
        except msgspec.ValidationError:
            continue
        if shared.is_share or shared.is_msg_unfurl:
            yield shared
