"""Messages, replies and direct messages, and the reactions to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Self, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from teamchat.events.event import Payload
from teamchat.model import Author, Message, ThreadMeta


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
    author_id: str | UnsetType = UNSET


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


class DeleteDirectMessage(Payload, frozen=True):
    """A direct message was deleted."""

    type = "DELETE_DM_MESSAGE"
    id: str
    conversation_id: str
    participants: Sequence[str]
    author_id: str | UnsetType = UNSET


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
    author_id: str | UnsetType = UNSET


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
