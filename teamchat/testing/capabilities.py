"""What every capability must do, asked through a whole application without a network."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from teamchat.application import Application
from teamchat.capabilities import Capabilities, Capability, Taken
from teamchat.chat import Draft
from teamchat.events import OWN_TYPES, LoggedEvent
from teamchat.interfaces import Routes, Storage
from teamchat.model import Caller, Message
from teamchat.storage.capability_tables import CapabilityTables, check
from teamchat.storage.log import logged_in
from teamchat.storage.tables import Table, tables
from teamchat.testing.auth import application, on_sqlite
from teamchat.testing.routes import RoutesContract

_MOST = 1000


class CapabilityContract(RoutesContract):
    """Tests of a capability, and of its routes. Subclass it with a name that begins with ``Test``::

        class TestPolls(CapabilityContract):
            def capability(self):
                return POLLS

            async def use(self, app, caller, message):
                await Polls(app).ask(caller, message.id, "Where?")

    `use` is what people do with it to a message; leave it out if it has nothing to do with messages.
    """

    @abstractmethod
    def capability(self) -> Capability:
        """Return the offer, as the hook ``capabilities`` does."""

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        """Do with a message what the capability is for."""

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
            told = (await answer.get_json())["capabilities"][offer.name]
            assert told["version"] == offer.version, f"{offer.name} is announced with another version"
            wrong = [name for name, limit in told.items() if type(limit) is not int]
            assert not wrong, f"limits are whole numbers, and these are not: {wrong}"

    async def test_x15_nothing_of_a_message_stays_when_it_is_deleted(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await _posted(app)
            await self.use(app, caller, message)
            await app.chat.messages.delete(caller, message.id)
            for table in self._tables():
                left = await _rows_with(app, table, message.id)
                assert not left, f"rows of {table.name} hold the id of a message that was deleted"

    async def test_its_events_are_those_that_it_declares(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await _posted(app)
            await self.use(app, caller, message)
            declared = {payload.type: payload for payload in self.capability().events}
            for event in await _others(app):
                assert event.type in declared, f"the event {event.type} is not declared"
                msgspec.json.decode(event.payload, type=declared[event.type])

    async def test_its_fields_are_those_of_the_messages_that_were_asked_for(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await _posted(app)
            _, other = await _posted(app)
            await self.use(app, caller, message)
            for fields in app.capabilities.message_fields.offered:
                asked = caller if fields.differ_by_caller else None
                async with app.storage.read() as tx:
                    found = await fields.read(tx, [other.id], asked)
                    assert set(found) <= {other.id}, "fields were read of a message that was not asked for"
                    found = await fields.read(tx, [message.id, other.id], asked)
                wrong = [type(one).__name__ for one in found.values() if type(one) is not fields.kind]
                assert not wrong, f"fields are a {fields.kind.__name__}, not {wrong}"

    async def test_a_page_that_was_read_before_shows_what_has_changed(self, tmp_path: Path) -> None:
        async with self.application(tmp_path) as app:
            caller, message = await _posted(app)
            await _newest_page(app, caller, message)
            await self.use(app, caller, message)
            kept = await _newest_page(app, caller, message)
            read = await app.chat.messages.page(caller, message.channel_id, 10, None)
            assert kept == msgspec.json.encode(read), (
                "the page in memory is another than the one that is read now: an event must say by "
                "changes_pages_of whose pages have changed"
            )

    def _taken(self) -> Capabilities:
        offer = self.capability()
        if offer.tables:
            check(offer.name, offer.tables)
        ours = CapabilityTables(offer.name, offer.tables, "the plugin") if offer.tables else None
        return Capabilities([Taken(offer, lambda app: offer.parts(app, offer.options()), "the plugin", ours)])

    def _tables(self) -> list[Table]:
        offer, own = self.capability(), {table.name for table in tables()}
        statements = tuple(
            statement.strip()
            for migration in offer.tables
            for statement in migration.statements
            if statement.lstrip().lower().startswith(("create", "alter", "drop"))
        )
        return [table for table in tables(statements) if table.name not in own]


async def _posted(app: Application) -> tuple[Caller, Message]:
    """Post a message in the first channel, as the first user."""
    email = app.settings.chat.initial_user.email
    _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
    caller = await app.accounts.authenticate(signed_in.access_token)
    [channel, *_] = await app.chat.channels.list(caller)
    return caller, await app.chat.messages.post(caller, channel.id, Draft("What is on today?"))


async def _newest_page(app: Application, caller: Caller, message: Message) -> bytes:
    encode: Any = msgspec.json.encode
    return await app.chat.messages.encoded_page(caller, message.channel_id, 10, None, encode)


async def _rows_with(app: Application, table: Table, value: str) -> int:
    async with app.storage.read() as tx:
        rows = await tx.fetch(f"select {', '.join(table.columns)} from {table.name}")  # noqa: S608
    return sum(value in str(each) for row in rows for each in row)


async def _others(app: Application) -> list[LoggedEvent]:
    """Return the events in the log that are not teamchat's own."""
    async with app.storage.read() as tx:
        return [event for event in await logged_in(tx, 0, _MOST) if event.type not in OWN_TYPES]
