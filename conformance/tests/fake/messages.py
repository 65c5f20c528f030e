"""Channel messages and reactions (interface, part 4), and what every message has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.channels import the_channel
from conformance.tests.fake.model import Conversation, Message, User, now

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

_MOST_REACTIONS = 50
_MOST_ON_A_PAGE = 200
_CAP_OF_THE_CONTRARY = 50


@route("GET", "/channels/:channelId/messages")
def messages(fake: Fake, ask: Ask) -> dict[str, Any]:
    named = ask.params["channelId"]
    place = named if fake.has("direct-by-channel-route") else the_channel(fake, ask).id
    listed = fake.store.listed[place]
    if fake.has("replies-in-the-list"):
        found = [one for one in fake.store.messages.values() if one.place == place]
        listed = sorted(found, key=lambda one: fake.store.order[one.id])
    return {"messages": [shown(fake, one) for one in page(fake, ask, listed)]}


@route("POST", "/channels/:channelId/messages")
def post(fake: Fake, ask: Ask) -> dict[str, Any]:
    channel = the_channel(fake, ask)
    made = new_message(fake, ask, channel.id, ask.content())
    told = shown(fake, made)
    fake.tell("NEW_MESSAGE", told)
    if fake.has("post-lost") and fake.store.order[made.id] % 5 == 0:
        fake.store.drop(made)
    return {"message": told}


@route("PUT", "/messages/:messageId")
def edit(fake: Fake, ask: Ask) -> dict[str, Any]:
    message = the_message(fake, ask)
    return edited(fake, ask, message)


@route("DELETE", "/messages/:messageId")
def delete(fake: Fake, ask: Ask) -> dict[str, Any]:
    message = the_message(fake, ask)
    conversation = fake.store.conversations.get(message.place)
    is_own = message.author["id"] == ask.user.id
    may = is_own or (ask.user.is_admin and conversation is None) or fake.has("anyone-deletes-messages")
    if not may or (fake.has("admin-deletes-nothing") and not is_own):
        raise Refusal(404 if fake.contrary else 403, "Only its author or an admin may delete a message")
    removed(fake, message)
    return success()


@route("POST", "/messages/:messageId/reactions")
def react(fake: Fake, ask: Ask) -> dict[str, Any]:
    message = the_message(fake, ask)
    reaction = ask.text("reaction", most=64)
    given = message.reactions.setdefault(reaction, [])
    if len(message.reactions) > _MOST_REACTIONS and not fake.has("reactions-without-number"):
        del message.reactions[reaction]
        raise Refusal(400, "That are too many reactions")
    if fake.has("reaction-replaces"):
        given.clear()
    if ask.user.id not in given:
        given.append(ask.user.id)
        _tell_reaction(fake, "NEW_REACTION", message, ask.user, reaction)
    return {"message": {"id": message.id, "reactions": reactions_of(fake, message)}}


@route("DELETE", "/messages/:messageId/reactions")
def take_back(fake: Fake, ask: Ask) -> dict[str, Any]:
    message = the_message(fake, ask)
    in_query = None if fake.has("reaction-in-body-only") else ask.request.asked("reaction")
    reaction = in_query if in_query and not ask.request.body else ask.text("reaction")
    given = message.reactions.get(reaction, [])
    if fake.has("reaction-of-all-removed") and given:
        given[:] = [ask.user.id]
    if fake.has("reaction-of-anyone-removed") and given:
        given.append(ask.user.id)
        given.pop(0)
    if ask.user.id in given:
        given.remove(ask.user.id)
        _tell_reaction(fake, "DELETE_REACTION", message, ask.user, reaction)
    if not given and not fake.contrary:
        message.reactions.pop(reaction, None)
    return {"message": {"id": message.id, "reactions": reactions_of(fake, message)}}


def the_message(fake: Fake, ask: Ask) -> Message:
    """Return the message that the path names, if whoever asks may know of it."""
    message = fake.store.messages.get(ask.params["messageId"])
    if message is None:
        raise Refusal(400 if fake.contrary else 404, "There is no such message")
    conversation = fake.store.conversations.get(message.place)
    if conversation and ask.user.id not in conversation.pair and not fake.has("direct-by-message-route"):
        unknown("message")
    return message


def new_message(
    fake: Fake, ask: Ask, place: str, content: str, *, thread: str | None = None, author: Any = None
) -> Message:
    """Keep a new message."""
    made = Message(
        fake.store.new_id("m"), place, author or author_of(ask.user), content, now(), thread,
        images=images_of(fake, ask, place),
    )  # fmt: skip
    if fake.has("updated-at-creation"):
        made.updated = made.created
    fake.store.put(made)
    return made


def edited(fake: Fake, ask: Ask, message: Message) -> dict[str, Any]:
    """Change the text of a message of one's own."""
    may = message.author["id"] == ask.user.id or fake.has("anyone-edits")
    if not may and not (fake.has("admin-edits") and ask.user.is_admin):
        raise Refusal(404 if fake.contrary else 403, "Only its author may edit a message")
    content = ask.content()
    if not fake.has("edit-lost"):
        message.content = content
    if "images" in ask.body:
        message.images = images_of(fake, ask, message.place)
    if not fake.has("edit-without-updated"):
        message.updated = max(now(), message.created)
    told = {**shown(fake, message), "content": content, "updatedAt": message.updated or now()}
    conversation = fake.store.conversations.get(message.place)
    if conversation is not None:
        fake.tell("UPDATE_DM_MESSAGE", {**told, "participants": list(conversation.pair)}, conversation.pair)
    elif message.thread is not None:
        fake.tell("UPDATE_THREAD_REPLY", told)
    else:
        fake.tell("UPDATE_MESSAGE", told)
    return {"message": {"id": message.id, "content": content, "updatedAt": told["updatedAt"]}}


def removed(fake: Fake, message: Message) -> None:
    """Delete a message and tell of it."""
    parent = fake.store.messages.get(message.thread or "")
    before = parent and meta_of(fake, parent)
    if not fake.has("delete-keeps"):
        fake.store.drop(message)
    conversation = fake.store.conversations.get(message.place)
    if conversation is not None:
        told = {"id": message.id, "conversationId": conversation.id, "participants": list(conversation.pair)}
        fake.tell("DELETE_DM_MESSAGE", told, conversation.pair)
    elif message.thread is not None:
        meta = before if fake.has("meta-of-before") else parent and meta_of(fake, parent)
        told = {"id": message.id, "threadId": message.thread, "channelId": message.place, "threadMeta": meta}
        fake.tell("DELETE_THREAD_REPLY", told)
    else:
        fake.tell("DELETE_MESSAGE", {"id": message.id, "channelId": message.place})


def shown(fake: Fake, message: Message) -> dict[str, Any]:
    """Return a message as it is answered."""
    author = dict(message.author)
    if not author.get("isBot"):
        author["userName"] = fake.store.name_of(author["id"]) if not fake.contrary else author["userName"]
    told = {
        "id": message.id,
        "channelId": message.place,
        "author": author,
        "content": message.content,
        "createdAt": message.created,
        "updatedAt": message.updated,
        "reactions": reactions_of(fake, message),
    }
    if message.thread is not None:
        told["threadId"] = message.thread
    elif meta := meta_of(fake, message):
        told["threadMeta"] = meta
    elif fake.contrary:
        told["threadMeta"] = told["threadId"] = None
    if message.images:
        told["images"] = message.images
    return told


def reactions_of(fake: Fake, message: Message) -> dict[str, list[str]]:
    """Return who reacted how."""
    if fake.has("reactions-by-user"):
        everyone = dict.fromkeys(id for ids in message.reactions.values() for id in ids)
        return {one: [key for key, ids in message.reactions.items() if one in ids] for one in everyone}
    return {reaction: list(ids) for reaction, ids in message.reactions.items()}


def meta_of(fake: Fake, parent: Message) -> dict[str, Any] | None:
    """Return what a parent tells of its thread, or None if it has none."""
    replies = fake.store.listed.get(parent.id)
    if not replies:
        return None
    last = replies[0] if fake.has("meta-of-the-first") else replies[-1]
    author = last.author["id"]
    return {
        "replyCount": len(replies),
        "lastReplyAt": last.created,
        "lastReplyBy": {"id": author, "userName": fake.store.name_of(author)},
        "participants": list(dict.fromkeys(reply.author["id"] for reply in replies)),
    }


def page(fake: Fake, ask: Ask, listed: list[Message]) -> list[Message]:
    """Return the newest `limit` of a list that are older than `before`, oldest first."""
    limit, before = _limit(fake, ask), ask.request.asked("before")
    if before is not None:
        position = fake.store.order.get(before)
        if position is None:
            raise Refusal(404 if fake.contrary else 400, "before must be the id of a message")
        if fake.has("before-inclusive"):
            position += 1
        if not fake.has("before-ignored"):
            listed = [one for one in listed if fake.store.order[one.id] < position]
    found = listed[:limit] if fake.has("page-of-the-oldest") else listed[-limit:]
    return found[::-1] if fake.contrary or fake.has("newest-first") else found


def images_of(fake: Fake, ask: Ask, place: str) -> list[str]:
    """Return the pictures that a new text comes with."""
    names = ask.body.get("images", [])
    if not isinstance(names, list) or (len(names) > 10 and not fake.has("images-without-number")):
        raise Refusal(400, "images must be a list of at most 10 filenames")
    for name in names:
        picture = fake.store.pictures.get(name) if isinstance(name, str) else None
        if picture is None or picture.place != place:
            raise Refusal(400, "images must be filenames of the same place")
    return list(names)


def author_of(user: User) -> dict[str, Any]:
    return {"id": user.id, "userName": user.name}


def _limit(fake: Fake, ask: Ask) -> int:
    asked = ask.request.asked("limit")
    if asked is None:
        return 49 if fake.has("limit-49") else 50
    if fake.has("limit-ignored"):
        return 50
    if not asked.isascii() or not asked.isdigit() or int(asked[:12]) < 1:
        if fake.contrary:
            return 50
        raise Refusal(400, "limit must be a whole number above zero")
    return min(int(asked[:12]), _CAP_OF_THE_CONTRARY if fake.contrary else _MOST_ON_A_PAGE)


def _tell_reaction(fake: Fake, kind: str, message: Message, user: User, reaction: str) -> None:
    conversation: Conversation | None = fake.store.conversations.get(message.place)
    payload = {"messageId": message.id, "userId": user.id, "reaction": reaction}
    fake.tell(kind, payload, conversation.pair if conversation and not fake.contrary else None)
