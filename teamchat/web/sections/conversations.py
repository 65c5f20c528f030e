"""Conversations: direct messages between two users."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from teamchat.application import Application
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.model import Caller, Conversation
from teamchat.model.pages import Page
from teamchat.web.endpoints import Answer, Section, Success
from teamchat.web.responses import Response
from teamchat.web.sections.messages import Edited, MessageList, OneMessage, answered

section = Section("conversations")


class Target(Struct, frozen=True, rename="camel"):
    """Whom to talk to."""

    target_user_id: str


class ConversationList(Answer, frozen=True):
    """The caller's conversations, the latest active first (decision D-29)."""

    conversations: Sequence[Conversation]


class OpenedConversation(Answer, frozen=True):
    """A conversation; `is_new` if this request made it."""

    conversation: Conversation
    is_new: bool


async def _check_conversation(app: Application, caller: Caller, conversation_id: str) -> None:
    await app.chat.images.check_conversation(caller, conversation_id)


async def _check_post(app: Application, caller: Caller, conversation_id: str) -> None:
    await app.chat.conversations.check_post(caller, conversation_id)


async def _check_edit(app: Application, caller: Caller, conversation_id: str, message_id: str) -> None:
    await app.chat.conversations.check_edit(caller, conversation_id, message_id)


@section.endpoint("GET", "/conversations", within_places=True, answer=ConversationList)
async def list_conversations(app: Application, caller: Caller) -> ConversationList:
    """List the caller's conversations."""
    return ConversationList(await app.chat.conversations.list(caller))


@section.endpoint("POST", "/conversations", body=Target, answer=OpenedConversation)
async def open_conversation(app: Application, caller: Caller, body: Target) -> OpenedConversation:
    """Open the conversation with a user, making it if there is none."""
    opened = await app.chat.conversations.open(caller, body.target_user_id)
    return OpenedConversation(opened.conversation, opened.is_new)


@section.endpoint(
    "GET", "/conversations/:conversationId/messages", answer=MessageList, first=_check_conversation
)
async def list_direct_messages(
    app: Application, caller: Caller, conversation_id: str, page: Page
) -> MessageList:
    """Read a page of a conversation's messages."""
    return MessageList.of(await app.chat.conversations.page(caller, conversation_id, page))


@section.endpoint(
    "POST", "/conversations/:conversationId/messages", body=Draft, answer=OneMessage, first=_check_post
)
async def post_direct_message(
    app: Application, caller: Caller, conversation_id: str, body: Draft, key: str | None
) -> Answer | Response:
    """Send a direct message."""
    message, beside = await app.chat.conversations.submit(caller, conversation_id, body, key)
    return answered(OneMessage(message), beside)


@section.endpoint(
    "PUT",
    "/conversations/:conversationId/messages/:messageId",
    body=MessageEdit,
    answer=Edited,
    first=_check_edit,
)
async def edit_direct_message(
    app: Application, caller: Caller, conversation_id: str, message_id: str, body: MessageEdit
) -> Answer | Response:
    """Edit one's own direct message."""
    message, beside = await app.chat.conversations.revise(caller, conversation_id, message_id, body)
    return answered(Edited.of(message), beside)


@section.endpoint("DELETE", "/conversations/:conversationId/messages/:messageId", answer=Success)
async def delete_direct_message(
    app: Application, caller: Caller, conversation_id: str, message_id: str
) -> Success:
    """Delete one's own direct message."""
    await app.chat.conversations.delete(caller, conversation_id, message_id)
    return Success()
