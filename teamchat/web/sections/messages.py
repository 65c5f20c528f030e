"""Channel messages, and what all messages' answers have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from teamchat.application import Application
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.chat.kept_pages import CODINGS
from teamchat.chat.messages import Found
from teamchat.chat.pages import MessagePage
from teamchat.model import Caller, Message
from teamchat.model.pages import Page
from teamchat.web.endpoints import Answer, Section, Success
from teamchat.web.request import Request
from teamchat.web.responses import Response

section = Section("messages")

COMPRESSED_FROM = 1024
"""From so many bytes on a page is compressed for who takes it so (RFC 9110, section 12.5.3)."""
_VARIES = {"Vary": "Accept-Encoding"}


class MessageList(Answer, frozen=True):
    """A page of messages, oldest first (decision D-08), and whether there are others before and after it.

    `as_of` is the position in the log at which it was so.
    """

    messages: Sequence[Message]
    has_before: bool
    has_after: bool
    as_of: str

    @classmethod
    def of(cls, page: MessagePage) -> MessageList:
        """Return the answer for a page."""
        return cls(page.messages, page.has_before, page.has_after, str(page.as_of))


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


def answered(answer: Answer, beside: Mapping[str, Any]) -> Answer | Response:
    """Return an answer with what capabilities have put beside the message, for its author alone."""
    if not beside:
        return answer
    encoded = _encoder.encode(answer)[:-1] + b"," + _encoder.encode(beside)[1:]
    return Response(encoded, "application/json")


_encoder = msgspec.json.Encoder()


def _encode(page: MessagePage) -> bytes:
    return _encoder.encode(MessageList.of(page))


async def _check_channel(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.images.check_channel(caller, channel_id)


async def _check_post(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.messages.check_post(caller, channel_id)


async def _check_edit(app: Application, caller: Caller, message_id: str) -> None:
    await app.chat.messages.check_edit(caller, message_id)


@section.endpoint("GET", "/channels/:channelId/messages", answer=MessageList, first=_check_channel)
async def list_messages(
    app: Application, caller: Caller, channel_id: str, page: Page, request: Request
) -> Response:
    """Read a page of a channel's messages."""
    messages, as_of = app.chat.messages, app.accounts.as_of
    encoded = await messages.encoded_page(caller, channel_id, page, _encode, as_of)
    coding = request.preferred_coding(*CODINGS)
    is_short = len(encoded.plain) < COMPRESSED_FROM
    if coding is None or (is_short and request.accepts_coding("identity")):
        return Response(encoded.plain, "application/json", headers=_VARIES)
    headers = _VARIES | {"Content-Encoding": coding}
    return Response(encoded.compressed(coding), "application/json", headers=headers)


@section.endpoint("POST", "/channels/:channelId/messages", body=Draft, answer=OneMessage, first=_check_post)
async def post_message(
    app: Application, caller: Caller, channel_id: str, body: Draft, key: str | None
) -> Answer | Response:
    """Post a message."""
    message, beside = await app.chat.messages.submit(caller, channel_id, body, key)
    return answered(OneMessage(message), beside)


@section.endpoint("GET", "/messages/:messageId", answer=Found)
async def read_message(app: Application, caller: Caller, message_id: str) -> Found:
    """Read a message, wherever it stands."""
    return await app.chat.messages.one(caller, message_id)


@section.endpoint("PUT", "/messages/:messageId", body=MessageEdit, answer=Edited, first=_check_edit)
async def edit_message(
    app: Application, caller: Caller, message_id: str, body: MessageEdit
) -> Answer | Response:
    """Edit one's own message."""
    message, beside = await app.chat.messages.revise(caller, message_id, body)
    return answered(Edited.of(message), beside)


@section.endpoint("DELETE", "/messages/:messageId", answer=Success)
async def delete_message(app: Application, caller: Caller, message_id: str) -> Success:
    """Delete a message: one's own, or as an admin."""
    await app.chat.messages.delete(caller, message_id)
    return Success()
