"""Threads: replies to a channel message."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.application import Application
from teamchat.chat.drafts import Draft, MessageEdit
from teamchat.model import Caller, Message, ThreadMeta
from teamchat.model.pages import Page
from teamchat.web.endpoints import Answer, Section, Success
from teamchat.web.responses import Response
from teamchat.web.sections.messages import Edited, answered

section = Section("threads")


class ReplyList(Answer, frozen=True):
    """A page of replies, oldest first (decision D-08), and whether there are others before and after it.

    `as_of` is the position in the log at which it was so.
    """

    replies: Sequence[Message]
    has_before: bool
    has_after: bool
    as_of: str


class Reply(Answer, frozen=True):
    """A reply, and its parent's summary of the thread."""

    reply: Message
    thread_meta: ThreadMeta


async def _check_thread(app: Application, caller: Caller, message_id: str) -> None:
    await app.chat.images.check_thread(caller, message_id)


async def _check_reply(app: Application, caller: Caller, message_id: str) -> None:
    await app.chat.threads.check_reply(caller, message_id)


async def _check_edit(app: Application, caller: Caller, message_id: str, reply_id: str) -> None:
    await app.chat.threads.check_edit(caller, message_id, reply_id)


@section.endpoint("GET", "/messages/:messageId/thread", answer=ReplyList, first=_check_thread)
async def list_replies(app: Application, caller: Caller, message_id: str, page: Page) -> ReplyList:
    """Read a page of a thread's replies."""
    found = await app.chat.threads.page(caller, message_id, page)
    return ReplyList(found.messages, found.has_before, found.has_after, str(found.as_of))


@section.endpoint("POST", "/messages/:messageId/thread", body=Draft, answer=Reply, first=_check_reply)
async def post_reply(
    app: Application, caller: Caller, message_id: str, body: Draft, key: str | None
) -> Answer | Response:
    """Reply to a message."""
    replied = await app.chat.threads.reply(caller, message_id, body, key)
    return answered(Reply(replied.reply, replied.thread_meta), replied.beside)


@section.endpoint(
    "PUT", "/messages/:messageId/thread/:replyId", body=MessageEdit, answer=Edited, first=_check_edit
)
async def edit_reply(
    app: Application, caller: Caller, message_id: str, reply_id: str, body: MessageEdit
) -> Answer | Response:
    """Edit one's own reply."""
    reply, beside = await app.chat.threads.revise(caller, message_id, reply_id, body)
    return answered(Edited.of(reply), beside)


@section.endpoint("DELETE", "/messages/:messageId/thread/:replyId", answer=Success)
async def delete_reply(app: Application, caller: Caller, message_id: str, reply_id: str) -> Success:
    """Delete a reply: one's own, or as an admin."""
    await app.chat.threads.delete(caller, message_id, reply_id)
    return Success()
