"""The whole domain against a plain model: any sequence of operations, by anyone, on anything.

The model is dictionaries and lists and knows the rules as the decisions tell them. After every operation
the answer's status and the logged events must be the model's; at the end so must everything readable.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teamchat.chat import Draft
from teamchat.errors import Problem
from teamchat.model.pages import Page
from tests.pages import sent_page

NAMES = ["Ada", "Bob", "Eve"]  # Ada is an admin
WHO = st.integers(0, 2)
WHICH = st.integers(0, 40)  # counts among all that ever was, so deleted things are addressed too
CONTENT = st.sampled_from(["a", "b", " "])
REACTION = st.sampled_from(["+1", "-1"])
CHANNEL_NAME = st.sampled_from(["One", "ONE", "Two", ""])

OPERATIONS = st.one_of(
    st.tuples(st.just("create"), WHO, CHANNEL_NAME),
    st.tuples(st.just("rename"), WHO, WHICH, CHANNEL_NAME),
    st.tuples(st.just("drop"), st.just(0), WHICH),
    st.tuples(st.just("post"), WHO, WHICH, CONTENT),
    st.tuples(st.just("reply"), WHO, WHICH, CONTENT),
    st.tuples(st.just("edit"), WHO, WHICH, CONTENT),
    st.tuples(st.just("delete"), WHO, WHICH),
    st.tuples(st.just("react"), WHO, WHICH, REACTION),
    st.tuples(st.just("unreact"), WHO, WHICH, REACTION),
    st.tuples(st.just("open"), WHO, WHO),
    st.tuples(st.just("send"), WHO, WHICH, CONTENT),
)


def wire(thing: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(thing))


class Refusal(Exception):
    """The model refuses, with a status."""

    def __init__(self, status: int) -> None:
        self.status = status


def refuse_if(condition: bool, status: int) -> None:
    if condition:
        raise Refusal(status)


class Told(NamedTuple):
    """An event as the model expects it: some fields of the payload, and who receives it."""

    kind: str
    fields: dict[str, Any]
    audience: frozenset[str] | None = None


class Model:
    """What the chat should be. Ids and times are taken over from the real answers, the rest is computed."""

    def __init__(self, users: list[str]) -> None:
        self.users = users
        self.channels: dict[str, str] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.conversations: dict[str, frozenset[str]] = {}

    def meta(self, parent_id: str) -> dict[str, Any] | None:
        replies = [m for m in self.messages.values() if m["parent"] == parent_id]
        if not replies:
            return None
        last = replies[-1]
        return {
            "replyCount": len(replies),
            "lastReplyAt": last["at"],
            "lastReplyBy": {"id": last["author"], "userName": NAMES[self.users.index(last["author"])]},
            "participants": list(dict.fromkeys(m["author"] for m in replies)),
        }

    def seen(self, me: str, message_id: str) -> dict[str, Any]:
        refuse_if(message_id not in self.messages, 404)
        message = self.messages[message_id]
        refuse_if(me not in self.conversations.get(message["place"], {me}), 404)
        return message

    def audience(self, message: dict[str, Any]) -> frozenset[str] | None:
        return self.conversations.get(message["place"])

    def check_name(self, name: str, but: str = "") -> None:
        refuse_if(not name, 400)
        taken = {n.lower() for id_, n in self.channels.items() if id_ != but}
        refuse_if(name.lower() in taken, 400)

    def create(self, me: int, name: str) -> None:
        refuse_if(me != 0, 403)
        self.check_name(name)

    def created(self, answer: Any, name: str) -> list[Told]:
        self.channels[answer.id] = name
        return [Told("NEW_CHANNEL", {"id": answer.id, "name": name, "createdAt": answer.created_at})]

    def rename(self, me: int, id_: str, name: str) -> list[Told]:
        refuse_if(id_ not in self.channels, 404)
        refuse_if(me != 0, 403)
        self.check_name(name, id_)
        self.channels[id_] = name
        return [Told("UPDATE_CHANNEL", {"id": id_, "name": name})]

    def drop(self, id_: str) -> list[Told]:
        refuse_if(id_ not in self.channels, 404)
        self.messages = {k: m for k, m in self.messages.items() if m["place"] != id_}
        return [Told("DELETE_CHANNEL", {"id": id_, "name": self.channels.pop(id_)})]

    def added(
        self, answer: Any, me: str, place: str, content: str, parent: str | None = None
    ) -> dict[str, Any]:
        message = {
            "id": answer.id,
            "place": place,
            "parent": parent,
            "author": me,
            "content": content,
            "at": answer.created_at,
            "edited": False,
            "reactions": {},
        }
        self.messages[answer.id] = message
        return message

    def full(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message's JSON without `updatedAt`, which is a time."""
        whole = {
            "id": message["id"],
            "channelId": message["place"],
            "author": {"id": message["author"], "userName": NAMES[self.users.index(message["author"])]},
            "content": message["content"],
            "createdAt": message["at"],
            "reactions": message["reactions"],
        }
        if message["parent"]:
            whole["threadId"] = message["parent"]
        meta = self.meta(message["id"])
        return whole | ({"threadMeta": meta} if meta else {})

    def told_of(self, message: dict[str, Any], channel: str, direct: str, reply: str = "") -> Told:
        audience = self.audience(message)
        fields = self.full(message)
        if audience:
            return Told(direct, fields | {"participants": sorted(audience)}, audience)
        return Told(reply if message["parent"] else channel, fields)

    def edit(self, me: str, id_: str, content: str) -> list[Told]:
        message = self.seen(me, id_)
        refuse_if(message["author"] != me, 403)
        refuse_if(not content.strip(), 400)
        message |= {"content": content, "edited": True}
        return [self.told_of(message, "UPDATE_MESSAGE", "UPDATE_DM_MESSAGE", "UPDATE_THREAD_REPLY")]

    def delete(self, me: str, id_: str) -> list[Told]:
        message = self.seen(me, id_)
        audience = self.audience(message)
        refuse_if(message["author"] != me and (audience is not None or me != self.users[0]), 403)
        self.messages = {k: m for k, m in self.messages.items() if id_ not in (k, m["parent"])}
        place, parent = message["place"], message["parent"]
        if audience:
            fields = {"id": id_, "conversationId": place, "participants": sorted(audience)}
            return [Told("DELETE_DM_MESSAGE", fields, audience)]
        if parent:
            fields = {"id": id_, "threadId": parent, "channelId": place, "threadMeta": self.meta(parent)}
            return [Told("DELETE_THREAD_REPLY", fields)]
        return [Told("DELETE_MESSAGE", {"id": id_, "channelId": place})]

    def react(self, me: str, id_: str, reaction: str, *, add: bool) -> list[Told]:
        message = self.seen(me, id_)
        users = message["reactions"].setdefault(reaction, [])
        changed = (me in users) != add
        if changed:
            users.append(me) if add else users.remove(me)
        if not users:
            del message["reactions"][reaction]
        fields = {"messageId": id_, "userId": me, "reaction": reaction}
        kind = "NEW_REACTION" if add else "DELETE_REACTION"
        return [Told(kind, fields, self.audience(message))] if changed else []


class Pair:
    """The real chat and the model, driven together."""

    def __init__(self, world: Any, callers: list[Any]) -> None:
        self.chat, self.world, self.callers = world.chat, world, callers
        self.model = Model([caller.user.id for caller in callers])
        self.channels: list[str] = ["0" * 32]
        self.messages: list[str] = ["0" * 32]
        self.conversations: list[str] = ["dm:" + "0" * 32]

    async def step(self, name: str, who: int, *rest: Any) -> None:
        caller = self.callers[who]
        try:
            expected = await getattr(self, name)(caller, who, *rest)
        except _Refused:
            expected = []
        told = await self.world.events()
        assert len(told) == len(expected), (name, told, expected)
        for (kind, payload, audience), event in zip(told, expected, strict=True):
            assert kind == event.kind
            assert (None if audience is None else frozenset(audience)) == event.audience
            assert {key: payload.get(key) for key in event.fields} == event.fields

    async def both(self, real: Any, model: Any) -> Any:
        """Await the real operation and run the model's; both must refuse with the same status or neither."""
        refused, expected = None, None
        try:
            expected = model()
        except Refusal as refusal:
            refused = refusal.status
        answer, status = await _outcome(real)
        assert status == refused
        if status is not None:
            raise _Refused
        return answer, expected

    async def create(self, caller, who, name):
        answer, _ = await self.both(
            self.chat.channels.create(caller, name), lambda: self.model.create(who, name)
        )
        self.channels.append(answer.id)
        return self.model.created(answer, name)

    async def rename(self, caller, who, which, name):
        id_ = self.channels[which % len(self.channels)]
        real = self.chat.channels.change(caller, id_, name)
        return (await self.both(real, lambda: self.model.rename(who, id_, name)))[1]

    async def drop(self, caller, who, which):
        id_ = self.channels[which % len(self.channels)]
        return (await self.both(self.chat.channels.delete(caller, id_), lambda: self.model.drop(id_)))[1]

    async def post(self, caller, who, which, content):
        id_ = self.channels[which % len(self.channels)]

        def check():
            refuse_if(id_ not in self.model.channels, 404)
            refuse_if(not content.strip(), 400)

        answer, _ = await self.both(self.chat.messages.post(caller, id_, Draft(content)), check)
        self.messages.append(answer.id)
        message = self.model.added(answer, caller.user.id, id_, content)
        return [self.model.told_of(message, "NEW_MESSAGE", "NEW_DM_MESSAGE")]

    async def reply(self, caller, who, which, content):
        id_ = self.messages[which % len(self.messages)]

        def check():
            parent = self.model.seen(caller.user.id, id_)
            refuse_if(bool(parent["parent"] or self.model.audience(parent)), 400)
            refuse_if(not content.strip(), 400)
            return parent

        answer, parent = await self.both(self.chat.threads.reply(caller, id_, Draft(content)), check)
        self.messages.append(answer.reply.id)
        reply = self.model.added(answer.reply, caller.user.id, parent["place"], content, id_)
        assert wire(answer.thread_meta) == self.model.meta(id_)
        fields = {
            "parentMessageId": id_,
            "channelId": parent["place"],
            "reply": self.model.full(reply) | {"updatedAt": None},
            "threadMeta": self.model.meta(id_),
            "parentAuthorId": parent["author"],
        }
        return [Told("NEW_THREAD_REPLY", fields)]

    async def edit(self, caller, who, which, content):
        id_ = self.messages[which % len(self.messages)]
        real = self.chat.messages.edit(caller, id_, Draft(content))
        return (await self.both(real, lambda: self.model.edit(caller.user.id, id_, content)))[1]

    async def delete(self, caller, who, which):
        id_ = self.messages[which % len(self.messages)]
        real = self.chat.messages.delete(caller, id_)
        return (await self.both(real, lambda: self.model.delete(caller.user.id, id_)))[1]

    async def react(self, caller, who, which, reaction):
        return await self._reaction(caller, which, reaction, add=True)

    async def unreact(self, caller, who, which, reaction):
        return await self._reaction(caller, which, reaction, add=False)

    async def _reaction(self, caller, which, reaction, *, add):
        id_ = self.messages[which % len(self.messages)]
        part = self.chat.reactions
        real = (part.add if add else part.remove)(caller, id_, reaction)
        answer, told = await self.both(real, lambda: self.model.react(caller.user.id, id_, reaction, add=add))
        assert answer.reactions == self.model.messages[id_]["reactions"]
        return told

    async def open(self, caller, who, whom):
        two = frozenset({caller.user.id, self.callers[whom].user.id})
        real = self.chat.conversations.open(caller, self.callers[whom].user.id)
        answer, _ = await self.both(real, lambda: refuse_if(who == whom, 400))
        id_ = answer.conversation.id
        assert answer.is_new == (two not in self.model.conversations.values())
        assert self.model.conversations.setdefault(id_, two) == two
        if not answer.is_new:
            return []
        self.conversations.append(id_)
        return [Told("NEW_CONVERSATION", {"id": id_, "participants": sorted(two)}, two)]

    async def send(self, caller, who, which, content):
        id_ = self.conversations[which % len(self.conversations)]

        def check():
            refuse_if(id_ not in self.model.conversations, 404)
            refuse_if(caller.user.id not in self.model.conversations[id_], 403)
            refuse_if(not content.strip(), 400)

        answer, _ = await self.both(self.chat.conversations.post(caller, id_, Draft(content)), check)
        self.messages.append(answer.id)
        message = self.model.added(answer, caller.user.id, id_, content)
        return [self.model.told_of(message, "NEW_MESSAGE", "NEW_DM_MESSAGE")]

    async def compare_kept_pages(self) -> None:
        """The newest page of a channel that is kept in memory is the one that is stored."""
        for id_ in self.model.channels:
            stored = (await self.chat.messages.page(self.callers[0], id_, Page(3))).messages
            kept = await sent_page(self.chat, self.callers[0], id_, 3)
            assert kept["messages"] == wire(stored)

    async def compare(self) -> None:
        """Everything that anyone can read is what the model says."""
        ada, model = self.callers[0], self.model
        channels = await self.chat.channels.list(ada)
        assert {channel.id: channel.name for channel in channels} == model.channels
        for id_ in model.channels:
            self._compare_page((await self.chat.messages.page(ada, id_, Page(200))).messages, place=id_)
        for message in model.messages.values():
            if not model.audience(message):
                page = (await self.chat.threads.page(ada, message["id"], Page(200))).messages
                self._compare_page(page, parent=message["id"])
        for caller in self.callers:
            await self._compare_conversations(caller)

    async def _compare_conversations(self, caller: Any) -> None:
        listed = await self.chat.conversations.list(caller)
        own = {id_ for id_, two in self.model.conversations.items() if caller.user.id in two}
        assert {conversation.id for conversation in listed} == own
        for conversation in listed:
            page = (await self.chat.conversations.page(caller, conversation.id, Page(200))).messages
            self._compare_page(page, place=conversation.id)
            assert conversation.last_message_at == (page[-1].created_at if page else None)

    def _compare_page(self, page: list[Any], place: str | None = None, parent: str | None = None) -> None:
        expected = [
            message
            for message in self.model.messages.values()
            if message["parent"] == parent and place in (None, message["place"])
        ]
        read = [wire(message) for message in page]
        edited = [message.pop("updatedAt") is not None for message in read]
        assert read == [self.model.full(message) for message in expected]
        assert edited == [message["edited"] for message in expected]


class _Refused(Exception):
    """Both refused alike."""


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(operations=st.lists(OPERATIONS, max_size=40))
async def test_the_chat_does_what_its_model_does(fresh_world, operations):
    async with fresh_world() as world:
        callers = [await world.user(name, is_admin=name == "Ada") for name in NAMES]
        pair = Pair(world, callers)
        # Something to begin with, or most operations would find nothing.
        for operation in [("create", 0, "Base"), ("open", 0, 1), ("post", 1, 1, "a"), ("send", 1, 1, "a")]:
            await pair.step(*operation)
        for operation in operations:
            await pair.step(*operation)
            await pair.compare_kept_pages()
        await pair.compare()


async def _outcome(operation: Any) -> tuple[Any, int | None]:
    """Return the answer, or the status with which the operation was refused."""
    try:
        return await operation, None
    except Problem as problem:
        return None, problem.status
