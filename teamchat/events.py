"""The events of the live stream: their types, payloads and audiences (interface, part 6).

An event is written to the log in the transaction that makes the change (`Transaction.append`), and is
encoded there, once.  `audience` says who may receive it (decision D-35): who sees a room, users by their
ids, or with None everyone signed in.  Types that begin with an underscore never reach a client: they tell the
server's own followers of the log, on this machine and on others, what has ended.

What was said in a message goes out of the log when the message is edited or deleted: by `text_room` and
`text_message` the storage finds the events that carry it, and `blanked` says what is left of their payloads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from teamchat.errors import StorageError
from teamchat.model import Author, Message, ThreadMeta

_encode = msgspec.json.Encoder().encode
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_decode = msgspec.json.Decoder().decode


class InRoom(Struct, frozen=True, rename="camel"):
    """Who sees a room: those who do when the event is handed out, and did at this epoch of the room.

    The epoch grows with every change of the room's members and of its privacy.
    """

    room_id: str
    epoch: int
    is_private: bool


Audience = tuple[str, ...] | InRoom | None
"""Who may receive an event: users by their ids, who sees a room, or with None everyone signed in."""


class Event(Struct, frozen=True):
    """An event on its way into the log. `payload` is its JSON, encoded; `audience` None means everyone.

    Where the payload carries what was said in a message, `text_room` is the id of its channel or
    conversation, and `text_message` its own.
    """

    type: str
    payload: str
    audience: Audience = None
    text_room: str | None = None
    text_message: str | None = None

    def check(self) -> None:
        """Raise `StorageError` if nobody could read this from the log; `Transaction.append` asks for it.

        Types that begin with an underscore are refused: they are the server's own.  The message names the
        type and what is wrong, never the payload.
        """
        if not isinstance(self.type, str) or not _TYPE.fullmatch(self.type):
            raise StorageError(
                "An event can't be appended: its type must be of up to 64 letters, digits, and _ . : - after "
                "the first; types that begin with _ are the server's own."
            )
        if (wrong := _wrong_about(self)) is not None:
            raise StorageError(f"The event {self.type} can't be appended: {wrong}.")


class Encoded(Event, frozen=True):
    """An event that was encoded here, of whatever type: there is nothing to check."""

    def check(self) -> None:
        """Take it as it is."""


class LoggedEvent(Struct, frozen=True):
    """An event read from the log. `seq` orders all events of a server and has no meaning beyond that.

    `text_room` and `text_message` are those of `Event`, and None once what was said is gone.  `is_private`
    tells a listener that sends events elsewhere that not everybody here may have this one.
    """

    seq: int
    type: str
    payload: str
    audience: Audience
    text_room: str | None = None
    text_message: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether it was for some users alone, or of a private room, when it was logged."""
        return self.audience.is_private if isinstance(self.audience, InRoom) else self.audience is not None


class Payload(Struct, frozen=True, rename="camel"):
    """Base of all payloads. `type` is the event's; the fields are those of the interface's table.

    `changes_pages_of`, in what a capability brings, is the field that names the room whose messages are shown
    otherwise from then on; what is kept in memory of that room is read anew.
    """

    type: ClassVar[str]
    changes_pages_of: ClassVar[str] = ""

    def to(self, audience: InRoom | Sequence[str] | None = None) -> Event:
        """Return the event that carries this payload to an audience; None is everyone."""
        if audience is not None and not isinstance(audience, InRoom):
            audience = tuple(audience)
        return Encoded(self.type, _encode(self).decode(), audience, *self._text_of())

    def _text_of(self) -> tuple[str | None, str | None]:
        """Return the place and the message whose text this carries, if it carries one."""
        return None, None


class Connected(Payload, frozen=True):
    """A stream begins; the log has no such event. `timestamp` is ISO 8601, UTC."""

    type = "CONNECTED"
    message: str
    timestamp: str
    user_id: str
    connection_id: str


class Resync(Payload, frozen=True):
    """Load anew: the log no longer reaches back to what was last seen, or much changed (decision D-34)."""

    type = "RESYNC"


class _WholeMessage(Payload, frozen=True):
    """A payload that is a message, every field of it (decision D-36)."""

    id: str
    channel_id: str
    author: Author
    content: str
    created_at: int
    updated_at: int | None
    reactions: Mapping[str, Sequence[str]]
    thread_id: str | UnsetType = UNSET
    thread_meta: ThreadMeta | UnsetType = UNSET
    images: Sequence[str] | UnsetType = UNSET
    participants: Sequence[str] | UnsetType = UNSET

    @classmethod
    def about(cls, message: Message, participants: Sequence[str] | UnsetType = UNSET) -> Self:
        """Return the payload for `message`; `participants` belong to the direct-message types alone."""
        fields = {name: getattr(message, name) for name in message.__struct_fields__}
        payload: Self = _with_fields_of(cls, type(message))(**fields, participants=participants)
        return payload

    def _text_of(self) -> tuple[str | None, str | None]:
        return self.channel_id, self.id


_Whole = TypeVar("_Whole", bound=_WholeMessage)


class NewMessage(_WholeMessage, frozen=True):
    """A message was posted in a channel, by a person or by a webhook."""

    type = "NEW_MESSAGE"


class UpdateMessage(_WholeMessage, frozen=True):
    """A message in a channel was edited."""

    type = "UPDATE_MESSAGE"


class NewDirectMessage(_WholeMessage, frozen=True):
    """A direct message was sent."""

    type = "NEW_DM_MESSAGE"


class UpdateDirectMessage(_WholeMessage, frozen=True):
    """A direct message was edited."""

    type = "UPDATE_DM_MESSAGE"


class UpdateThreadReply(_WholeMessage, frozen=True):
    """A reply was edited; the payload is the reply (decision D-36)."""

    type = "UPDATE_THREAD_REPLY"


class DeleteMessage(Payload, frozen=True):
    """A message in a channel was deleted, and its thread with it."""

    type = "DELETE_MESSAGE"
    id: str
    channel_id: str


class NewChannel(Payload, frozen=True):
    """A channel was created."""

    type = "NEW_CHANNEL"
    id: str
    name: str
    created_at: int
    created_by: str | UnsetType = UNSET


class UpdateChannel(Payload, frozen=True):
    """A channel was renamed."""

    type = "UPDATE_CHANNEL"
    id: str
    name: str
    created_by: str | UnsetType = UNSET
    updated_at: int | UnsetType = UNSET


class DeleteChannel(Payload, frozen=True):
    """A channel was deleted, with its messages and webhooks."""

    type = "DELETE_CHANNEL"
    id: str
    name: str
    created_by: str | UnsetType = UNSET


class NewReaction(Payload, frozen=True):
    """Somebody reacted to a message, a reply or a direct message."""

    type = "NEW_REACTION"
    message_id: str
    user_id: str
    reaction: str


class DeleteReaction(Payload, frozen=True):
    """Somebody took a reaction back."""

    type = "DELETE_REACTION"
    message_id: str
    user_id: str
    reaction: str


class NewUser(Payload, frozen=True):
    """A user was added, registered, or signed in for the first time."""

    type = "NEW_USER"
    id: str
    user_name: str
    email: str


class RemoveUser(Payload, frozen=True):
    """An admin removed a user."""

    type = "REMOVE_USER"
    id: str
    email: str


class UserExit(Payload, frozen=True):
    """A user left."""

    type = "USER_EXIT"
    id: str
    user_name: str


class UpdateUser(Payload, frozen=True):
    """A user changed their name, or became an admin, or is none any more: `GET /users` tells."""

    type = "UPDATE_USER"
    id: str
    user_name: str


class NewConversation(Payload, frozen=True):
    """Two users have a conversation from now on."""

    type = "NEW_CONVERSATION"
    id: str
    participants: Sequence[str]
    created_at: int


class DeleteDirectMessage(Payload, frozen=True):
    """A direct message was deleted."""

    type = "DELETE_DM_MESSAGE"
    id: str
    conversation_id: str
    participants: Sequence[str]


class NewThreadReply(Payload, frozen=True):
    """Somebody replied to a message of `parent_author_id`: a user, or ``webhook:<id>`` (decision D-45)."""

    type = "NEW_THREAD_REPLY"
    parent_message_id: str
    channel_id: str
    reply: Message
    thread_meta: ThreadMeta
    parent_author_id: str

    def _text_of(self) -> tuple[str | None, str | None]:
        return self.channel_id, self.reply.id


class DeleteThreadReply(Payload, frozen=True):
    """A reply was deleted; `thread_meta` is null if it was the last (decision D-28)."""

    type = "DELETE_THREAD_REPLY"
    id: str
    thread_id: str
    channel_id: str
    thread_meta: ThreadMeta | None


class NewWebhook(Payload, frozen=True):
    """A webhook was made."""

    type = "NEW_WEBHOOK"
    id: str
    name: str
    channel_id: str


class DeleteWebhook(Payload, frozen=True):
    """A webhook was deleted by itself, not with its channel."""

    type = "DELETE_WEBHOOK"
    id: str
    channel_id: str


class UpdateServerSettings(Payload, frozen=True):
    """The server was renamed."""

    type = "UPDATE_SERVER_SETTINGS"
    name: str


class SessionsEnded(Payload, frozen=True):
    """Internal: these sessions have ended, and the streams opened in them end too."""

    type = "_SESSIONS_ENDED"
    session_ids: Sequence[str]


class UserGone(Payload, frozen=True):
    """Internal: a user was removed or has left, and all their streams end."""

    type = "_USER_GONE"
    user_id: str


class Blanked(Payload, frozen=True):
    """Internal: the log's events until here carry no more what was said in these messages of a place.

    `message_ids` None means all of the place. Who keeps events in memory takes it out there too.
    """

    type = "_BLANKED"
    room_id: str
    message_ids: Sequence[str] | None


class RoomChanged(Payload, frozen=True):
    """Internal: who is in a room, or whether it is private, is another from here on."""

    type = "_ROOM_CHANGED"
    room_id: str
    epoch: int
    is_private: bool
    joined: Sequence[str]
    left: Sequence[str]


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


@cache
def _with_fields_of(payload: type[_Whole], message: type[Message]) -> type[_Whole]:
    """Return a payload that has the fields which capabilities add to messages."""
    if message is Message:
        return payload
    added = msgspec.structs.fields(message)[len(Message.__struct_fields__) :]
    fields = [(field.name, field.type, UNSET) for field in added]
    return msgspec.defstruct(  # type: ignore[return-value]
        payload.__name__, fields, bases=(payload,), frozen=True, rename="camel"
    )


def is_internal(event_type: str) -> bool:
    """Tell whether an event is for the server alone."""
    return event_type.startswith("_")


def _wrong_about(event: Event) -> str | None:
    """Say what is wrong about an event that was made elsewhere, or return None."""
    audience, payload = event.audience, event.payload
    if not (audience is None or isinstance(audience, InRoom)) and (
        not isinstance(audience, (tuple, list)) or not all(isinstance(one, str) for one in audience)
    ):
        return "its audience must be None, a tuple of users' ids, or the audience of a room"
    if event.type == Connected.type:
        return "it is sent by each stream itself"
    if not isinstance(payload, str):
        return f"its payload must be JSON as a str, not {type(payload).__name__}; json.dumps() makes it"
    if "\n" in payload or "\r" in payload:
        return "its payload has a line break, which ends a line of the stream; leave out json.dumps(indent=…)"
    try:
        msgspec.json.decode(payload, type=_payload_types().get(event.type, Any))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError):
            return f"its payload is not one of this type, see {_payload_types()[event.type].__name__}"
        return "its payload is not valid JSON"
    return None


@lru_cache(maxsize=1)
def _payload_types() -> Mapping[str, type[Payload]]:
    """Return the payload of each type that teamchat has."""
    return {kind.type: kind for kind in _kinds(Payload) if "type" in vars(kind)}


def _kinds(base: type[Payload]) -> Iterator[type[Payload]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


OWN_TYPES = frozenset(kind.type for kind in _kinds(Payload) if "type" in vars(kind))
"""The types that teamchat itself has."""


def blanked(payload: str) -> str:
    """Return what is left of a payload that carries what was said: no text, no images, no reactions.

    Everything else stays, so that a client can read it as any other of its type.
    """
    fields = _decode(payload)
    if not isinstance(fields, dict):
        return "{}"  # A plugin's: nobody knows what of it was said.
    said = fields.get("reply")
    if not isinstance(said, dict):
        said = fields
    said["content"] = ""
    said["reactions"] = {}
    said.pop("images", None)
    return _encode(fields).decode()
