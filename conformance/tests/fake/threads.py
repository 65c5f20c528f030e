"""Threads (interface, part 4, Threads)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.messages import (
    edited,
    meta_of,
    new_message,
    page,
    removed,
    shown,
    the_message,
)
from conformance.tests.fake.model import Message

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake


@route("GET", "/messages/:messageId/thread")
def thread(fake: Fake, ask: Ask) -> dict[str, Any]:
    parent = the_message(fake, ask)
    return {"replies": [shown(fake, one) for one in page(fake, ask, fake.store.listed[parent.id])]}


@route("POST", "/messages/:messageId/thread")
def reply(fake: Fake, ask: Ask) -> dict[str, Any]:
    parent = the_message(fake, ask)
    if not fake.has("threads-anywhere"):
        can_have_replies(fake, parent)
    made = new_message(fake, ask, parent.place, ask.content(), thread=parent.id)
    told = {"reply": shown(fake, made), "threadMeta": meta_of(fake, parent)}
    about = {"parentMessageId": parent.id, "channelId": parent.place, "parentAuthorId": parent.author["id"]}
    fake.tell("NEW_THREAD_REPLY", about | told)
    return told


@route("PUT", "/messages/:messageId/thread/:replyId")
def edit_reply(fake: Fake, ask: Ask) -> dict[str, Any]:
    return edited(fake, ask, _the_reply(fake, ask))


@route("DELETE", "/messages/:messageId/thread/:replyId")
def delete_reply(fake: Fake, ask: Ask) -> dict[str, Any]:
    found = _the_reply(fake, ask)
    may = found.author["id"] == ask.user.id or ask.user.is_admin
    if not may and not fake.has("anyone-deletes-replies"):
        raise Refusal(403, "Only its author or an admin may delete a reply")
    removed(fake, found)
    return success()


def can_have_replies(fake: Fake, parent: Message) -> None:
    """Refuse threads on replies and direct messages."""
    if parent.thread is not None or parent.place in fake.store.conversations:
        raise Refusal(400, "Only a top-level message of a channel can have a thread")


def _the_reply(fake: Fake, ask: Ask) -> Message:
    parent = the_message(fake, ask)
    found = fake.store.messages.get(ask.params["replyId"])
    if found is None or found.thread != parent.id:
        unknown("reply")
    return found
