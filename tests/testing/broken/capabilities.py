"""Capabilities that each get one thing wrong: a note under a message, and when it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from msgspec import UNSET, Struct, UnsetType

from teamchat import Capability, MessageFields, Migration, Parts, Payload
from teamchat.application import Application
from teamchat.model import Caller, Message
from teamchat.testing import CapabilityContract

HANGS_ON = "references messages(id) on delete cascade"
TABLE = "create table notes (message_id text primary key {hangs}, note text not null){{table_end}}"


class Note(Struct, frozen=True, rename="camel"):
    """What a message with a note has besides."""

    note: str | UnsetType = UNSET


class Noted(Payload, frozen=True):
    """A note was made."""

    type = "NOTED"
    changes_pages_of = "place_id"
    place_id: str


async def read(tx: Any, ids: Sequence[str], _: Caller | None) -> Mapping[str, Note]:
    rows = await tx.fetch("select message_id, note from notes")
    return {one: Note(note) for one, note in rows if one in ids}


def parts(app: Any, options: Any) -> Parts:
    return Parts(message_fields=MessageFields(kind=Note, read=read))


NOTES = Capability(
    name="notes",
    tables=[Migration(1, (TABLE.format(hangs=HANGS_ON),))],
    events=[Noted],
    parts=parts,
)


class Notes(CapabilityContract):
    """A capability with nothing wrong; what is below changes one thing of it."""

    found_by: ClassVar[dict[str, str]] = {}
    payload: type[Any] = Noted

    def capability(self) -> Capability:
        return NOTES

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        async with app.storage.write() as tx:
            await tx.fetch("insert into notes (message_id, note) values ($1, 'Remember.')", message.id)
            await tx.append(self.payload(message.channel_id).to())


class TestLimitOfText(Notes):
    """Its limit is no number."""

    found_by: ClassVar[dict[str, str]] = {
        "test_a1_it_is_announced_with_its_version_and_numbers": "limits are whole numbers",
    }

    def capability(self) -> Capability:
        def limited(app: Any, options: Any) -> Parts:
            return replace(parts(app, options), limits={"most": "many"})  # type: ignore[dict-item]

        return replace(NOTES, parts=limited)


class TestLeftBehind(Notes):
    """A note stays when its message is deleted."""

    found_by: ClassVar[dict[str, str]] = {
        "test_x15_nothing_of_a_message_stays_when_it_is_deleted": "rows of notes hold the id of a message",
    }

    def capability(self) -> Capability:
        return replace(NOTES, tables=[Migration(1, (TABLE.format(hangs=""),))])


class TestUndeclaredEvent(Notes):
    """Its event is not declared; a type in capitals then empties every memory, so pages are right."""

    found_by: ClassVar[dict[str, str]] = {
        "test_its_events_are_those_that_it_declares": "the event NOTED is not declared",
    }

    def capability(self) -> Capability:
        return replace(NOTES, events=[])


class TestFieldsOfAll(Notes):
    """It answers for messages that were not asked for."""

    found_by: ClassVar[dict[str, str]] = {
        "test_its_fields_are_those_of_the_messages_that_were_asked_for": "that was not asked for",
    }

    def capability(self) -> Capability:
        async def read_all(tx: Any, ids: Sequence[str], _: Caller | None) -> Mapping[str, Note]:
            rows = await tx.fetch("select message_id, note from notes")
            return {one: Note(note) for one, note in rows}

        fields = MessageFields(kind=Note, read=read_all)
        return replace(NOTES, parts=lambda app, options: Parts(message_fields=fields))


class TestQuietEvent(Notes):
    """Its event does not say whose pages have changed."""

    found_by: ClassVar[dict[str, str]] = {
        "test_a_page_that_was_read_before_shows_what_has_changed": "by changes_pages_of whose pages",
    }

    class Quiet(Payload, frozen=True):
        type = "NOTED"
        place_id: str

    payload = Quiet

    def capability(self) -> Capability:
        return replace(NOTES, events=[self.Quiet])
