"""Capabilities that each get one thing wrong: a note under a message, and when it was made."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from msgspec import UNSET, Struct, UnsetType

from teamchat import (
    Capability,
    Changes,
    Event,
    ExportPart,
    Imported,
    MessageFields,
    Migration,
    Parts,
    Payload,
    SeenMessage,
    Signal,
    Teamchat,
    UserFields,
)
from teamchat.application import Application
from teamchat.model import Caller, Message
from teamchat.testing import CapabilityContract
from teamchat.web import Section

HANGS_ON = "references messages(id) on delete cascade"
TABLE = "create table hints (message_id text primary key {hangs}, note text not null){{table_end}}"


class Note(Struct, frozen=True, rename="camel"):
    """What a message with a note has besides."""

    note: str | UnsetType = UNSET


class Noted(Payload, frozen=True):
    """A note was made."""

    type = "NOTED"
    changes_pages_of = "place_id"
    place_id: str


async def read(tx: Any, ids: Sequence[str], _: Caller | None) -> Mapping[str, Note]:
    rows = await tx.fetch("select message_id, note from hints")
    return {one: Note(note) for one, note in rows if one in ids}


def parts(app: Any, options: Any) -> Parts:
    return Parts(message_fields=MessageFields(kind=Note, read=read))


class PortableNote(Struct, frozen=True, rename="camel"):
    """A note as it is exported."""

    message_id: str
    room_id: str
    note: str


class ExportedNotes(ExportPart):
    """The notes of an installation."""

    record = PortableNote

    async def write(self, tx: Any) -> AsyncGenerator[Sequence[PortableNote], None]:
        rows = await tx.fetch(
            "select n.message_id, m.room_id, n.note from hints n join messages m on m.id = n.message_id"
        )
        yield [PortableNote(*row) for row in rows]

    async def take(self, tx: Any, records: Sequence[PortableNote], imported: Imported) -> None:
        for one in records:
            if await self.message(tx, one, imported):
                sql = "insert into hints values ($1, $2) on conflict do nothing"
                await tx.fetch(sql, one.message_id, one.note)

    async def message(self, tx: Any, record: PortableNote, imported: Imported) -> str | None:
        return await imported.message(tx, record.message_id, record.room_id)


NOTES = Capability(
    name="hints",
    tables=[Migration(1, (TABLE.format(hangs=HANGS_ON),))],
    events=[Noted],
    export=ExportedNotes(),
    parts=parts,
)


class Notes(CapabilityContract):
    """A capability with nothing wrong; what is below changes one thing of it."""

    found_by: ClassVar[dict[str, str]] = {}
    payload: type[Any] = Noted

    def capability(self) -> Capability:
        return NOTES

    def event(self, seen: SeenMessage) -> Event:
        return self.payload(seen.room.id).to(seen.audience)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        async with app.storage.write() as tx:
            seen = await app.message(tx, caller, message.id)
            await tx.fetch("insert into hints (message_id, note) values ($1, 'Think of it')", seen.id)
            await tx.append(self.event(seen))


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
        "test_x15_nothing_of_a_message_stays_when_it_is_deleted": "rows of hints hold the id of a message",
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
            rows = await tx.fetch("select message_id, note from hints")
            return {one: Note(note) for one, note in rows}

        fields = MessageFields(kind=Note, read=read_all)
        return replace(NOTES, parts=lambda app, options: Parts(message_fields=fields))


class Moods(Struct, frozen=True, rename="camel"):
    """What users who are in a mood have besides."""

    mood: str | UnsetType = UNSET


class TestMoodsOfAll(Notes):
    """It answers for users who were not asked for."""

    found_by: ClassVar[dict[str, str]] = {
        "test_l3_its_fields_are_those_of_the_users_that_were_asked_for": "of a user who was not asked for",
    }

    def capability(self) -> Capability:
        async def read_all(tx: Any, _: Sequence[str] | None) -> Mapping[str, Moods]:
            return {id_: Moods("good") for (id_,) in await tx.fetch("select id from users")}

        return replace(
            NOTES, parts=lambda app, options: Parts(user_fields=UserFields(kind=Moods, read=read_all))
        )


class TestMoodOfNobody(Notes):
    """It has a mood for everybody, and none for one who is asked for alone."""

    found_by: ClassVar[dict[str, str]] = {
        "test_l3_its_fields_are_those_of_the_users_that_were_asked_for": "has other fields where all",
    }

    def capability(self) -> Capability:
        async def read(tx: Any, ids: Sequence[str] | None) -> Mapping[str, Moods]:
            users = [id_ for (id_,) in await tx.fetch("select id from users")] if ids is None else []
            return {id_: Moods("good") for id_ in users}

        return replace(NOTES, parts=lambda app, options: Parts(user_fields=UserFields(kind=Moods, read=read)))


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


class TestToldToTheRoom(Notes):
    """Its event goes to who sees the room, though not everybody there sees the message."""

    found_by: ClassVar[dict[str, str]] = {
        "test_x2_who_does_not_see_the_message_is_told_nothing": "['NOTED'] is told to a member",
    }

    def event(self, seen: SeenMessage) -> Event:
        return self.payload(seen.room.id).to(seen.room.audience)


class TestWordyEvent(Notes):
    """Its event holds the note, which stays in the log."""

    found_by: ClassVar[dict[str, str]] = {
        "test_x15_what_was_written_does_not_stay_in_the_log": "the event NOTED still holds what was written",
    }

    class Wordy(Payload, frozen=True):
        type = "NOTED"
        changes_pages_of = "place_id"
        place_id: str
        notes: list[str]

    def capability(self) -> Capability:
        return replace(NOTES, events=[self.Wordy])

    def event(self, seen: SeenMessage) -> Event:
        return self.Wordy(seen.room.id, ["Think of it"]).to(seen.audience)


class Write(Struct, frozen=True):
    """The body of a note, and what is answered."""

    note: str


class TestStoresAnything(Notes):
    """A note is stored as it was sent, though PostgreSQL does not store a NUL."""

    found_by: ClassVar[dict[str, str]] = {
        "test_d04_a_character_that_postgresql_can_not_store_is_refused": "a row of hints holds a NUL",
    }

    def capability(self) -> Capability:
        def writing(app: Teamchat, options: Any) -> Parts:
            section = Section("notes")

            @section.endpoint("POST", "/messages/:messageId/notes", body=Write, answer=Write)
            async def write(caller: Caller, message_id: str, body: Write) -> Write:
                """Write a note."""
                async with app.storage.write() as tx:
                    seen = await app.message(tx, caller, message_id)
                    sql = "insert into hints (message_id, note) values ($1, $2) on conflict do nothing"
                    await tx.fetch(sql, seen.id, body.note)
                    await tx.append(self.event(seen))
                return body

            return replace(parts(app, options), routes=[section])

        return replace(NOTES, parts=writing)


class TestTakesNothing(Notes):
    """It exports its notes, and takes none of them in."""

    found_by: ClassVar[dict[str, str]] = {
        "test_what_it_exports_comes_back_in_another_installation": "after two imports into an installation",
    }

    class Deaf(ExportedNotes):
        async def message(self, tx: Any, record: PortableNote, imported: Imported) -> str | None:
            return None

    def capability(self) -> Capability:
        return replace(NOTES, export=self.Deaf())


class TestTakesAll(Notes):
    """It takes in notes whatever became of their messages; nothing in its table keeps it from that."""

    found_by: ClassVar[dict[str, str]] = {
        "test_what_is_exported_of_messages_that_are_not_there_is_left_out": "came in that is not there",
        "test_x15_nothing_of_a_message_stays_when_it_is_deleted": "rows of hints hold the id of a message",
    }

    class Trusting(ExportedNotes):
        async def write(self, tx: Any) -> AsyncGenerator[Sequence[PortableNote], None]:
            rows = await tx.fetch("select message_id, note from hints")
            yield [PortableNote(id_, "", note) for id_, note in rows]

        async def message(self, tx: Any, record: PortableNote, imported: Imported) -> str | None:
            return record.message_id

    def capability(self) -> Capability:
        return replace(NOTES, tables=[Migration(1, (TABLE.format(hangs=""),))], export=self.Trusting())


class TestGivesBack(Notes):
    """Its notes go with whoever wrote the message, and are taken in again."""

    found_by: ClassVar[dict[str, str]] = {
        "test_what_went_with_an_account_does_not_come_back_by_an_import": "brings records of theirs back",
    }

    class Forgetting(Changes):
        async def user_gone(self, tx: Any, user_id: str) -> None:
            own = "select id from messages where author_id = $1"
            await tx.fetch(f"delete from hints where message_id in ({own})", user_id)

    def capability(self) -> Capability:
        def forgetting(app: Any, options: Any) -> Parts:
            return replace(parts(app, options), changes=self.Forgetting())

        return replace(NOTES, parts=forgetting)


class TestOtherWords(Notes):
    """Its words in German fill in another value than those in English."""

    found_by: ClassVar[dict[str, str]] = {
        "test_its_words_in_the_client_are_the_same_in_every_language": "other values than strings/en.json",
    }

    def capability(self) -> Capability:
        return replace(NOTES, client="other_words")


class Glanced(Signal, frozen=True):
    """Somebody has looked at a note."""

    type = "org.example.glanced"
    asked_as = "glances"


class TestUndeclaredSignal(Notes):
    """It sends a signal that it does not declare."""

    found_by: ClassVar[dict[str, str]] = {
        "test_x8_its_signals_are_those_that_it_declares": "the signal org.example.glanced is not declared",
    }

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await super().use(app, caller, message)
        app.signal(Glanced(), [caller.user.id])


class TestLoggedSignal(Notes):
    """It writes a signal into the log."""

    found_by: ClassVar[dict[str, str]] = {
        "test_its_events_are_those_that_it_declares": "the event org.example.glanced is not declared",
    }

    def capability(self) -> Capability:
        return replace(NOTES, events=[Noted, Glanced])

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await super().use(app, caller, message)
        async with app.storage.write() as tx:
            await tx.append(Glanced().to([caller.user.id]))
