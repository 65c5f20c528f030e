"""Channel messages, and what all messages' answers have in common."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from teamchat.application import Application
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.model import Caller, Message
from teamchat.web.endpoints import Answer, Section, Success
from teamchat.web.reader import Page
from teamchat.web.responses import Response

section = Section("messages")


class MessageList(Answer, frozen=True):
    """A page of messages, oldest first (decision D-08)."""

    messages: Sequence[Message]


class OneMessage(Answer, frozen=True):
    """A message."""

    message: Message


class EditedMessage(Answer, frozen=True):
    """What an edit answers of the message."""

    id: str
    content: str
    updated_at: int | None
    images: Sequence[str] | UnsetType = UNSET


class Edited(Answer, frozen=True):
    """A message after an edit."""

    message: EditedMessage

    @classmethod
    def of(cls, message: Message) -> Edited:
        """Return the answer for an edited message."""
        return cls(EditedMessage(message.id, message.content, message.updated_at, message.images))


_encoder = msgspec.json.Encoder()


def _encode(messages: list[Message]) -> bytes:
    return _encoder.encode(MessageList(messages))


async def _check_channel(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.images.check_channel(caller, channel_id)


async def _check_post(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.messages.check_post(caller, channel_id)


async def _check_edit(app: Application, caller: Caller, message_id: str) -> None:
    await app.chat.messages.check_edit(caller, message_id)


@section.endpoint("GET", "/channels/:channelId/messages", answer=MessageList, first=_check_channel)
async def list_messages(app: Application, caller: Caller, channel_id: str, page: Page) -> Response:
    """Read a page of a channel's messages."""
    messages = app.chat.messages
    encoded = await messages.encoded_page(caller, channel_id, page.limit, page.before, _encode)
    return Response(encoded, "application/json")


@section.endpoint("POST", "/channels/:channelId/messages", body=Draft, answer=OneMessage, first=_check_post)
async def post_message(
    app: Application, caller: Caller, channel_id: str, body: Draft, key: str | None
) -> OneMessage:
    """Post a message."""
    return OneMessage(await app.chat.messages.post(caller, channel_id, body, key))


@section.endpoint("PUT", "/messages/:messageId", body=MessageEdit, answer=Edited, first=_check_edit)
async def edit_message(app: Application, caller: Caller, message_id: str, body: MessageEdit) -> Edited:
    """Edit one's own message."""
    return Edited.of(await app.chat.messages.edit(caller, message_id, body))


@section.endpoint("DELETE", "/messages/:messageId", answer=Success)
async def delete_message(app: Application, caller: Caller, message_id: str) -> Success:
    """Delete a message: one's own, or as an admin."""
    await app.chat.messages.delete(caller, message_id)
    return Success()
