"""Events for the server's own followers of the log, on this machine and on others; no client gets them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat.events.event import Payload


class SessionsEnded(Payload, frozen=True):
    """Internal: these sessions have ended, and the streams opened in them end too.

    `have_expired` says that nobody ended them. `all_of` is a user of whom every session ends that does not go
    on, those that had expired before among them.
    """

    type = "_SESSIONS_ENDED"
    session_ids: Sequence[str]
    have_expired: bool | UnsetType = UNSET
    all_of: str | UnsetType = UNSET


class UserGone(Payload, frozen=True):
    """Internal: a user was removed, has left or was deactivated, and all their streams end."""

    type = "_USER_GONE"
    user_id: str


class StreamsEnded(Payload, frozen=True):
    """Internal: all streams of a user end, and their sessions go on, though not as they did."""

    type = "_STREAMS_ENDED"
    user_id: str


class Blanked(Payload, frozen=True):
    """Internal: the log's events until here carry no more what was said in these messages of a room.

    `message_ids` None means all of the room; with `fields` those of the messages are gone alone. Who keeps
    events in memory takes it out there too.
    """

    type = "_BLANKED"
    room_id: str
    message_ids: Sequence[str] | None
    fields: Sequence[str] | None = None


class RoomChanged(Payload, frozen=True):
    """Internal: who is in a room, or whether it is private, is another from here on.

    `visible_from` is the first message that those who joined see, `public_from` the first that everybody sees
    while the room is public.
    """

    type = "_ROOM_CHANGED"
    room_id: str
    epoch: int
    is_private: bool
    joined: Sequence[str]
    left: Sequence[str]
    visible_from: str = ""
    public_from: str = ""
    is_default: bool = False


class RoomGone(Payload, frozen=True):
    """Internal: a room was deleted; of one that `was_private` nobody is given anything any more."""

    type = "_ROOM_GONE"
    room_id: str
    was_private: bool


class MemberJoined(Payload, frozen=True):
    """Internal: another process began to serve the same storage."""

    type = "_MEMBER_JOINED"
    member_id: str


class DisplacedStream(Struct, frozen=True, rename="camel"):
    """A stream by the process that holds it, and its number there."""

    member_id: str
    number: int


class StreamsDisplaced(Payload, frozen=True):
    """Internal: these streams end, for newer ones of their users at other processes (decision D-37)."""

    type = "_STREAMS_DISPLACED"
    streams: Sequence[DisplacedStream]
