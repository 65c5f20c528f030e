"""Conversations and direct messages (interface, part 4, Conversations)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.messages import edited, new_message, page, removed, shown
from conformance.tests.fake.model import Conversation, Message, now

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake


@route("GET", "/conversations")
def conversations(fake: Fake, ask: Ask) -> dict[str, Any]:
    own = [
        one
        for one in fake.store.conversations.values()
        if ask.user.id in one.pair or fake.has("conversations-of-all")
    ]
    own.sort(key=lambda one: one.last or one.created, reverse=not fake.contrary)
    listed = []
    for one in own:
        told = {**_shown(fake, ask, one), "lastMessageAt": one.last}
        if fake.contrary and one.last is None:
            del told["lastMessageAt"]
        listed.append(told)
    return {"conversations": listed}


@route("POST", "/conversations")
def open_conversation(fake: Fake, ask: Ask) -> dict[str, Any]:
    target = ask.text("targetUserId")
    if target not in fake.store.users:
        unknown("user")
    if target == ask.user.id and not fake.contrary:
        raise Refusal(400, "A conversation needs two")
    pair = (ask.user.id, target)
    found = next((one for one in fake.store.conversations.values() if set(one.pair) == set(pair)), None)
    if fake.has("conversation-by-order"):
        found = next((one for one in fake.store.conversations.values() if one.pair == pair), None)
    if found is not None:
        return {"conversation": _shown(fake, ask, found), "isNew": fake.has("conversation-always-new")}
    made = Conversation("dm:" + fake.store.new_id(), pair, now())
    fake.store.conversations[made.id] = made
    told = {"id": made.id, "participants": list(pair), "createdAt": made.created}
    fake.tell("NEW_CONVERSATION", told, None if fake.contrary else pair)
    return {"conversation": _shown(fake, ask, made), "isNew": True}


@route("GET", "/conversations/:conversationId/messages")
def direct_messages(fake: Fake, ask: Ask) -> dict[str, Any]:
    found = the_conversation(fake, ask, but_admins=fake.has("admin-reads-direct"))
    return {"messages": [shown(fake, one) for one in page(fake, ask, fake.store.listed[found.id])]}


@route("POST", "/conversations/:conversationId/messages")
def send(fake: Fake, ask: Ask) -> dict[str, Any]:
    found = the_conversation(fake, ask, but_anyone=fake.has("outsiders-write-direct"))
    made = new_message(fake, ask, found.id, ask.content())
    if not fake.has("last-message-not-kept"):
        found.last = made.created
    told = shown(fake, made)
    if fake.has("direct-told-to-all"):
        fake.tell("NEW_MESSAGE", told)
    fake.tell("NEW_DM_MESSAGE", {**told, "participants": list(found.pair)}, found.pair)
    return {"message": told}


@route("PUT", "/conversations/:conversationId/messages/:messageId")
def edit_direct(fake: Fake, ask: Ask) -> dict[str, Any]:
    return edited(fake, ask, _the_direct_message(fake, ask))


@route("DELETE", "/conversations/:conversationId/messages/:messageId")
def delete_direct(fake: Fake, ask: Ask) -> dict[str, Any]:
    found = _the_direct_message(fake, ask)
    is_allowed_outsider = fake.has("outsiders-delete-direct") and not _takes_part(fake, ask)
    if found.author["id"] != ask.user.id and not fake.contrary and not is_allowed_outsider:
        raise Refusal(403, "Only its author may delete a direct message")
    removed(fake, found)
    return success()


def the_conversation(
    fake: Fake, ask: Ask, *, but_admins: bool = False, but_anyone: bool = False
) -> Conversation:
    """Return the conversation that the path names, if whoever asks takes part in it."""
    found = fake.store.conversations.get(ask.params["conversationId"]) or unknown("conversation")
    if ask.user.id not in found.pair and not (but_admins and ask.user.is_admin) and not but_anyone:
        raise Refusal(404 if fake.contrary else 403, "Only its two participants may do this")
    return found


def _the_direct_message(fake: Fake, ask: Ask) -> Message:
    place = the_conversation(fake, ask, but_anyone=fake.has("outsiders-delete-direct"))
    found = fake.store.messages.get(ask.params["messageId"])
    if found is None or found.place != place.id:
        unknown("message")
    return found


def _takes_part(fake: Fake, ask: Ask) -> bool:
    return ask.user.id in fake.store.conversations[ask.params["conversationId"]].pair


def _shown(fake: Fake, ask: Ask, conversation: Conversation) -> dict[str, Any]:
    first, second = conversation.pair
    other = second if ask.user.id == first else first
    if fake.has("other-user-is-oneself"):
        other = ask.user.id
    return {
        "id": conversation.id,
        "participants": list(conversation.pair),
        "otherUser": {"id": other, "userName": fake.store.name_of(other)},
    }
