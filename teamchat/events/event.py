"""An event on its way into the log, an event as read from there, and the base of all payloads.

An event is appended to the log in the transaction that makes the change (`Transaction.append`), and is
encoded there, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from teamchat.errors import StorageError
from teamchat.events.audience import Audience, InRoom
from teamchat.model.resources import RoomKind

CONNECTED = "CONNECTED"
"""The type that each stream sends itself."""

_OF_TWO = {"NEW_CONVERSATION", "NEW_DM_MESSAGE", "UPDATE_DM_MESSAGE", "DELETE_DM_MESSAGE"} | {
    *("NEW_REACTION", "DELETE_REACTION"),  # In all other rooms they are for who is in the room.
}
_OF_CONVERSATION = ('"channelId":"dm:', '"placeId":"dm:')
_encode = msgspec.json.Encoder().encode
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")


class Event(Struct, frozen=True):
    """An event on its way into the log. `payload` is its JSON, encoded; `audience` None means everyone.

    Where the payload carries what was said in a message, `text_room` is the id of its channel or
    conversation, and `text_message` its own; where it carries what a user says of themself, both are theirs.
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
    """An event read from the log. `seq` puts all events of a server in order and means nothing else.

    `text_room` and `text_message` are those of `Event`, and None once the text has been removed.
    `is_private` tells a listener that sends events elsewhere that not everybody may have this one.
    """

    seq: int
    type: str
    payload: str
    audience: Audience
    text_room: str | None = None
    text_message: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether it was only for some users, or of a private room, when it was logged."""
        if not isinstance(self.audience, InRoom):
            return self.audience is not None
        return self.audience.is_private or self.audience.outsiders or bool(self.audience.users)

    @property
    def room_kind(self) -> RoomKind | None:
        """The kind of room it is about; None if it is about none, or is only for users whom it names.

        `is_private` says whether the room is private; groups, notes and direct conversations always are.
        """
        if isinstance(self.audience, InRoom):
            return self.audience.kind
        is_direct = self.type in _OF_TWO or any(name in self.payload for name in _OF_CONVERSATION)
        return "direct" if self.audience is not None and len(self.audience) == 2 and is_direct else None

    @property
    def is_for_outsiders(self) -> bool:
        """Whether it tells people who are not members that a channel became private, or public."""
        return isinstance(self.audience, InRoom) and self.audience.outsiders

    @property
    def room_id(self) -> str | None:
        """The room that it is about, if it is for those who see that room."""
        return self.audience.room_id if isinstance(self.audience, InRoom) else None


class Payload(Struct, frozen=True, rename="camel"):
    """Base of all payloads. `type` is the event's; the fields are those of the interface's table.

    In a capability's event, `changes_pages_of` is the field with the room whose messages look different from
    then on; the cached page of that room is then read anew.
    """

    type: ClassVar[str]
    changes_pages_of: ClassVar[str] = ""

    def to(self, audience: InRoom | Sequence[str] | None = None) -> Event:
        """Return the event that carries this payload to an audience; None means everyone."""
        if audience is not None and not isinstance(audience, InRoom):
            audience = tuple(audience)
        return Encoded(self.type, _encode(self).decode(), audience, *self._text_of())

    def _text_of(self) -> tuple[str | None, str | None]:
        """Return the room and the message whose text this carries, if it carries one."""
        return None, None


class Signal(Payload, frozen=True):
    """Base of what matters only for a moment: it is not in the log, and may be lost (extension rule X-8)."""

    asked_as: ClassVar[str]
    """The name by which streams ask for it (``GET /events?ephemeral=typing``). Types may share one."""
    latest_of: ClassVar[Sequence[str]] = ()
    """While a client is slow, a signal replaces an earlier one of its type that is for the same users and has
    the same values in these fields. Without any fields, none is replaced."""
    watched_in: ClassVar[str] = ""
    """The field with a place: of the audience, only streams that watch this place get the signal (I-1)."""
    done_by: ClassVar[str] = ""
    """The field with the user whose doing it tells of. They don't get it themselves, and nobody gets it once
    they no longer see the place."""

    def recency(self) -> Sequence[int | str]:
        """Return a value that is greater the newer the state is that the signal tells of.

        A signal does not replace a newer one.  Without this, whichever comes later counts as newer, but
        signals that several processes send at the same time arrive in any order.
        """
        return ()


def is_internal(event_type: str) -> bool:
    """Return whether an event is only for the server itself."""
    return event_type.startswith("_")


def _wrong_about(event: Event) -> str | None:
    """Return what is wrong with an event that was made elsewhere, or None."""
    audience, payload = event.audience, event.payload
    if not (audience is None or isinstance(audience, InRoom)) and (
        not isinstance(audience, (tuple, list)) or not all(isinstance(one, str) for one in audience)
    ):
        return "its audience must be None, a tuple of users' ids, or the audience of a room"
    if event.type == CONNECTED:
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
    return payload_types()


def payload_types() -> Mapping[str, type[Payload]]:
    """Return the payload of each type that was declared until now."""
    return {kind.type: kind for kind in _kinds(Payload) if "type" in vars(kind)}


def _kinds(base: type[Payload]) -> Iterator[type[Payload]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
