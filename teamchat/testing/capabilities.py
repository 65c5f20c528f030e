"""What every capability must do, asked through a whole application without a network."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from teamchat.application import Application
from teamchat.capabilities import Capabilities, Capability, Taken
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.pages import MessagePage
from teamchat.events import OWN_TYPES, LoggedEvent, Signal
from teamchat.interfaces import Routes, Row, Storage
from teamchat.model import Caller, Message
from teamchat.model.ids import new_id
from teamchat.model.pages import Page
from teamchat.storage.capability_tables import CapabilityTables, check
from teamchat.storage.log import logged_in
from teamchat.storage.tables import Table, tables
from teamchat.stream.rooms import Rooms
from teamchat.stream.signals import SentSignal
from teamchat.testing import exports
from teamchat.testing.auth import application, on_sqlite
from teamchat.testing.bodies import fitting
from teamchat.testing.routes import RoutesContract

_MOST = 1000
_OTHER = "other@example.org"
_FILLED_IN = re.compile(r"\{(\w+)\}")
_NO_WORD = re.compile(r"[^\w.:-]")  # Ids, names of states and dates have nothing of this.


class CapabilityContract(RoutesContract):
    """Tests of a capability, and of its routes. Subclass it with a name that begins with ``Test``::

        class TestPolls(CapabilityContract):
            def capability(self):
                return POLLS

            async def use(self, app, caller, message):
                await Polls(app).ask(caller, message.id, "Where?")
                await Polls(app).vote(await self.other(app), message.id, "Here")

    `use` is what people do with it to a message; leave it out if it has nothing to do with messages. Its
    `caller` is who has written the message; what only others may do with it is done by `other`.
    """

    @abstractmethod
    def capability(self) -> Capability:
        """Return the offer, as the hook ``capabilities`` does."""

    def beside(self) -> Sequence[Capability]:
        """Return capabilities that are on beside it, such as those that it needs."""
        return ()

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        """Do with a message what the capability is for; `caller` is its author."""

    async def other(self, app: Application) -> Caller:
        """Return another user, who sees the message that `use` is given, and has not written it."""
        if all(one.email != _OTHER for one in await app.accounts.users.list()):
            author = await _signed_in(app, app.settings.chat.initial_user.email)
            await app.accounts.users.add(author, _OTHER)
        return await _signed_in(app, _OTHER)

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        """Open the storage of the application. Override it to ask on another than SQLite."""
        return on_sqlite(directory)

    def routes(self, app: Application) -> Sequence[Routes]:
        return app.capabilities.routes

    @asynccontextmanager
    async def application(self, tmp_path: Path) -> AsyncIterator[Application]:
        async with application(
            self.settings(), tmp_path, self.open_storage, capabilities=self._taken()
        ) as app:
            yield app

    async def test_there_are_routes_and_none_takes_the_place_of_teamchats_own(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path):
            pass  # A capability may do without any.

    async def test_a1_it_is_announced_with_its_version_and_numbers(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (_, site):
            answer = await site.test_client().get("/capabilities")
            offer = self.capability()
            announced = (await answer.get_json())["capabilities"][offer.name]
            assert announced["version"] == offer.version, f"{offer.name} is announced with another version"
            wrong = [name for name, limit in announced.items() if type(limit) is not int]
            assert not wrong, f"limits are whole numbers, and these are not: {wrong}"

    async def test_x15_nothing_of_a_message_stays_when_it_is_deleted(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            await app.chat.messages.delete(caller, message.id)
            for table in self._tables():
                left = await _rows_with(app, table, message.id)
                assert not left, f"rows of {table.name} hold the id of a message that was deleted"

    async def test_x15_what_was_written_does_not_stay_in_the_log(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            written = {
                each
                for table in self._tables()
                for row in await _rows(app, table)
                for each in row
                if isinstance(each, str) and _NO_WORD.search(each)
            }
            await app.chat.messages.delete(caller, message.id)
            for event in await _others(app):
                assert written.isdisjoint(_strings(msgspec.json.decode(event.payload))), (
                    f"the event {event.type} still holds what was written when the message was deleted: let "
                    "it tell ids and numbers, and clients ask for the rest"
                )

    async def test_d04_a_character_that_postgresql_can_not_store_is_refused(self, tmp_path: Path) -> None:
        async with self._asking(tmp_path) as asking:
            for asker, route in product(asking.askers, asking.routes):
                if route.body is not None:
                    await asking.check(asker, route, msgspec.json.encode(fitting(route.body, "no\0thing")))
            for table in self._tables():
                assert not await _rows_with(asking.app, table, "\0"), (
                    f"a row of {table.name} holds a NUL, which only SQLite stores: let text that people "
                    "write go through `teamchat.model.text`"
                )

    async def test_x2_who_does_not_see_the_message_is_told_nothing(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, _ = await posted(app)
            channel = await app.chat.channels.create(
                caller, NewPrivateChannel("Secret", history_for="joiners")
            )
            other = await self.other(app)
            await app.chat.members.add(caller, channel.id, [other.user.id])
            message = await app.chat.messages.post(caller, channel.id, Draft("Between us"))
            joiner = await app.accounts.users.add(caller, "joiner@example.org")
            await app.chat.members.add(caller, channel.id, [joiner])
            before = len(await _others(app))
            await self.use(app, caller, message)
            async with app.storage.read() as tx:
                rooms = await Rooms.read(tx)
            sent: list[LoggedEvent | SentSignal] = [
                *(await _others(app))[before:],
                *app.hub.signalling.waiting,
            ]
            told = sorted({one.type for one in sent if rooms.sees(joiner, one.audience)})
            assert not told, (
                f"{told} is told to a member of the channel who does not see the message: append it to the "
                "`audience` of what `app.message` returns, not to the room's"
            )

    async def test_its_events_are_those_that_it_declares(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            offers = (self.capability(), *self.beside())
            events = [payload for offer in offers for payload in offer.events]
            declared = {payload.type: payload for payload in events if not issubclass(payload, Signal)}
            for event in await _others(app):
                assert event.type in declared, f"the event {event.type} is not declared"
                msgspec.json.decode(event.payload, type=declared[event.type])

    async def test_x8_its_signals_are_those_that_it_declares(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            events = self.capability().events
            declared = {payload.type: payload for payload in events if issubclass(payload, Signal)}
            for sent in app.hub.signalling.waiting:
                assert sent.type in declared, f"the signal {sent.type} is not declared"
                assert sent.asked_as == declared[sent.type].asked_as, f"{sent.type} is asked for otherwise"
                msgspec.json.decode(sent.payload, type=declared[sent.type])

    async def test_its_fields_are_those_of_the_messages_that_were_asked_for(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            _, other = await posted(app)
            await self.use(app, caller, message)
            for fields in app.capabilities.message_fields.offered:
                asked = caller if fields.differ_by_caller else None
                async with app.storage.read() as tx:
                    found = await fields.read(tx, [other.id], asked)
                    assert set(found) <= {other.id}, "fields were read of a message that was not asked for"
                    found = await fields.read(tx, [message.id, other.id], asked)
                wrong = [type(one).__name__ for one in found.values() if type(one) is not fields.kind]
                assert not wrong, f"fields are a {fields.kind.__name__}, not {wrong}"

    async def test_l3_its_fields_are_those_of_the_users_that_were_asked_for(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            for fields in app.capabilities.user_fields.offered:
                async with app.storage.read() as tx:
                    of_all = await fields.read(tx, None)
                    of_one = await fields.read(tx, [caller.user.id])
                    of_nobody = await fields.read(tx, [new_id()])
                assert not of_nobody, "fields were read of a user who was not asked for"
                wanted = {id_: each for id_, each in of_all.items() if id_ == caller.user.id}
                assert of_one == wanted, "a user has other fields where all are read than where one is"
                wrong = [type(one).__name__ for one in of_all.values() if type(one) is not fields.kind]
                assert not wrong, f"fields are a {fields.kind.__name__}, not {wrong}"

    async def test_what_a_post_is_answered_of_its_fields_is_what_is_read_later(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            for draft in self.drafts(app, caller):
                stored = await app.chat.messages.submit(caller, message.channel_id, draft)
                async with app.storage.read() as tx:
                    read = await app.chat.messages.seen(tx, caller, [stored.message.id])
                assert [stored.message] == read, (
                    "the message that is answered to its author, and told to all others, is another than the "
                    "one that is read: let DraftFields.write return what MessageFields.read will"
                )
                unknown = set(stored.beside) - _beside(app)
                assert not unknown, f"the answer has fields that DraftFields.beside does not: {unknown}"

    def drafts(self, app: Application, caller: Caller) -> Sequence[Draft]:  # noqa: ARG002
        """Return what people post with the fields that it adds; override it if it adds `DraftFields`.

        ``app.capabilities.drafts.extended(Draft)`` is the struct that has them.
        """
        return ()

    async def test_a_page_that_was_read_before_shows_what_has_changed(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await posted(app)
            await _newest_page(app, caller, message)
            await self.use(app, caller, message)
            kept = await _newest_page(app, caller, message)
            read = await app.chat.messages.page(caller, message.channel_id, Page(10))
            assert kept == msgspec.json.encode(read.messages), (
                "the page in memory is another than the one that is read now: an event must say by "
                "changes_pages_of whose pages have changed"
            )

    async def test_what_it_exports_comes_back_in_another_installation(self, tmp_path: Path) -> None:
        name, first, second = self.capability().name, tmp_path / "first", tmp_path / "second"
        if self.capability().export is None:
            return
        async with self.application(tmp_path / "one") as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            await exports.export(app, first)
        async with self.application(tmp_path / "two") as app:
            for _ in range(2):
                await exports.bring_in(app, first)
            await exports.export(app, second)
        written = exports.records(first, name)
        assert written, f"nothing of {name} was exported"
        found = sorted(exports.records(second, name))
        assert found == exports.renamed(written, first, second), (
            "after two imports into an installation in use, what is exported there is not the same with the "
            "ids that users and rooms have there"
        )

    async def test_what_is_exported_of_messages_that_are_not_there_is_left_out(self, tmp_path: Path) -> None:
        name, first, second = self.capability().name, tmp_path / "first", tmp_path / "second"
        if self.capability().export is None:
            return
        async with self.application(tmp_path / "one") as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            await exports.export(app, first)
        for records in ("messages", "channels", "conversations", "users"):
            (first / f"{records}.jsonl").unlink()
        async with self.application(tmp_path / "two") as app:
            await exports.bring_in(app, first)
            await exports.export(app, second)
        found = [line for line in exports.records(second, name) if message.id in line]
        assert not found, "a record of a message came in that is not there"

    async def test_what_went_with_an_account_does_not_come_back_by_an_import(self, tmp_path: Path) -> None:
        name, before = self.capability().name, tmp_path / "before"
        gone, after = tmp_path / "gone", tmp_path / "after"
        if self.capability().export is None:
            return
        async with self.application(tmp_path / "one") as app:
            caller, message = await posted(app)
            await self.use(app, caller, message)
            await exports.export(app, before)
            await app.accounts.users.add(caller, "successor@example.org", "admin")
            successor = await _signed_in(app, "successor@example.org")
            await app.accounts.users.remove(successor, caller.user.id)
            await exports.export(app, gone)
            await exports.bring_in(app, before)
            await exports.export(app, after)
        assert exports.records(after, name) == exports.records(gone, name), (
            "an import of what was exported before a user was removed brings records of theirs back: what "
            "went with an account is to be looked up by Imported.account"
        )

    def test_its_words_in_the_client_are_the_same_in_every_language(self) -> None:
        folder = _folder(self.capability())
        tables = {} if folder is None else _words(folder)
        english = tables.get("en", {})
        for language, words in tables.items():
            unknown = sorted(set(words) - set(english))
            assert not unknown, f"strings/{language}.json has words that strings/en.json lacks: {unknown}"
            other = sorted(key for key, word in words.items() if word != english[key])
            assert not other, f"strings/{language}.json fills in other values than strings/en.json: {other}"

    def _taken(self) -> Capabilities:
        return Capabilities([_taken(one) for one in (self.capability(), *self.beside())])

    def _tables(self) -> list[Table]:
        offer, own = self.capability(), {table.name for table in tables()}
        statements = tuple(
            statement.strip()
            for migration in offer.tables
            for statement in migration.statements
            if statement.lstrip().lower().startswith(("create", "alter", "drop"))
        )
        return [table for table in tables(statements) if table.name not in own]


def _taken(offer: Capability) -> Taken:
    if offer.tables:
        check(offer.name, offer.tables)
    ours = CapabilityTables(offer.name, offer.tables, "the plugin") if offer.tables else None
    options = offer.options()
    return Taken(offer, lambda app: offer.parts(app, options), "the plugin", ours, options=options)


def _beside(app: Application) -> set[str]:
    """Return the names of the fields that may stand beside a message in the answer to its author."""
    kinds = [fields.beside for fields in app.capabilities.drafts.offered if fields.beside is not None]
    return {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}


def _folder(offer: Capability) -> Traversable | None:
    """Return the folder of the part of the client: it stands in the package of what makes the parts."""
    package = offer.parts.__module__
    while offer.client is not None and package:
        found = getattr(import_module(package), "__path__", None) and files(package).joinpath(offer.client)
        if found and found.joinpath("main.js").is_file():
            return found
        package = package.rpartition(".")[0]
    return None


def _words(folder: Traversable) -> dict[str, dict[str, set[str]]]:
    """Return the values that are filled into each of its words, by language and key."""
    strings, found = folder.joinpath("strings"), {}
    for one in strings.iterdir() if strings.is_dir() else ():
        language, is_json, _ = one.name.partition(".json")
        if is_json:
            table = msgspec.json.decode(one.read_bytes())
            found[language] = {key: set(_FILLED_IN.findall(str(words))) for key, words in table.items()}
    return found


async def posted(app: Application) -> tuple[Caller, Message]:
    """Post a message in the first channel, as the first user."""
    caller = await _signed_in(app, app.settings.chat.initial_user.email)
    [channel, *_] = await app.chat.channels.list(caller)
    return caller, await app.chat.messages.post(caller, channel.id, Draft("What is on today?"))


async def _signed_in(app: Application, email: str) -> Caller:
    _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
    return await app.accounts.authenticate(signed_in.access_token)


async def _newest_page(app: Application, caller: Caller, message: Message) -> bytes:
    """Return the messages of the page that is kept in memory."""

    def encode(page: MessagePage) -> bytes:
        return msgspec.json.encode({"messages": page.messages, "asOf": str(page.as_of)})

    encoded = await app.chat.messages.encoded_page(caller, message.channel_id, Page(10), encode)
    return bytes(msgspec.json.decode(encoded.plain, type=dict[str, msgspec.Raw])["messages"])


async def _rows(app: Application, table: Table) -> Sequence[Row]:
    async with app.storage.read() as tx:
        return await tx.fetch(f"select {', '.join(table.columns)} from {table.name}")  # noqa: S608


async def _rows_with(app: Application, table: Table, value: str) -> int:
    return sum(value in str(each) for row in await _rows(app, table) for each in row)


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in what JSON holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


async def _others(app: Application) -> list[LoggedEvent]:
    """Return the events in the log that are not teamchat's own."""
    async with app.storage.read() as tx:
        return [event for event in await logged_in(tx, 0, _MOST) if event.type not in OWN_TYPES]
