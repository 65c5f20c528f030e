"""What tests of mentions work with: a server with read states and mentions, and some users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from teamchat import Capability
from teamchat.application import Application
from teamchat.chat import Draft, MessageEdit
from teamchat.chat.drafts import Stored
from teamchat.mentions import MENTIONS
from teamchat.mentions.activity.offer import ACTIVITY
from teamchat.mentions.entities import Entity
from teamchat.model import Caller, Message
from teamchat.read_state import READ_STATE
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.threads.offer import THREADS
from tests.read_state.world import Offered as ReadStatesOffered
from tests.read_state.world import World as ReadStatesWorld


class Offered(ReadStatesOffered):
    """The capability, with those that it needs."""

    def capability(self) -> Capability:
        return MENTIONS

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, THREADS, LEVELS, ACTIVITY]

    def drafts(self, app: Application, caller: Caller) -> Sequence[Draft]:
        body = app.capabilities.drafts.extended(Draft)
        other = body("hello @nobody", entities=[Entity("wide", 6, 7, "here")])  # type: ignore[call-arg]
        return [Draft("@everyone is here"), other, Draft("hello")]

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        edit = Draft(f"{message.content} @everyone, and @reader")
        found = await app.accounts.users.list()
        reader = next((one for one in found if one.user_name == "reader"), None)
        if reader is None:
            await app.accounts.users.add(caller, "reader@example.org")
        room = message.channel_id
        if room.startswith("dm:"):
            await app.chat.conversations.edit(caller, room, message.id, edit)
        else:
            await app.chat.messages.edit(caller, message.id, edit)


def contract() -> Offered:
    return Offered()


class World(ReadStatesWorld):
    """That server."""

    async def say(
        self,
        name: str,
        room: str,
        text: str,
        entities: Sequence[Entity] | None = None,
        *,
        thread: str | None = None,
        parse: bool | None = None,
    ) -> Stored:
        """Post a text, in a room or a thread of it."""
        draft = self.draft(text, entities, parse)
        chat, caller = self.app.chat, self.callers[name]
        if thread is not None:
            replied = await chat.threads.reply(caller, thread, draft)
            return Stored(replied.reply, replied.beside)
        if room.startswith("dm:"):
            return await chat.conversations.submit(caller, room, draft)
        return await chat.messages.submit(caller, room, draft)

    def draft(self, text: str, entities: Sequence[Entity] | None = None, parse: bool | None = None) -> Draft:
        body = self.app.capabilities.drafts.extended(Draft)
        given: Mapping[str, Any] = {"entities": entities, "parse": parse}
        return body(text, **{name: value for name, value in given.items() if value is not None})

    async def edit(
        self, name: str, message: str, text: str, entities: Sequence[Entity] | None = None
    ) -> Stored:
        body: Any = self.app.capabilities.drafts.extended(MessageEdit)
        given = {} if entities is None else {"entities": entities}
        return await self.app.chat.messages.revise(self.callers[name], message, body(text, **given))

    async def mentions(self, name: str, room: str) -> int:
        return (await self.state(name, room)).mention_count

    def user(self, name: str, offset: int, length: int | None = None) -> Entity:
        return Entity("user", offset, length or len(name) + 1, self.id(name))


def entities(message: Message) -> list[tuple[str, int, int, str]]:
    """Return the entities of a message, each as its type, offset, length and id."""
    found = getattr(message, "entities", UNSET)
    return [] if found is UNSET else [(one.type, one.offset, one.length, one.id) for one in found]


def mentions(message: Message) -> list[str]:
    """Return whom a message mentions."""
    found = getattr(message, "mentions", UNSET)
    return [] if found is UNSET else list(found)
