"""Storages with one thing wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import trio

from teamchat import Event, LoggedEvent, Storage, StorageError, Transaction
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.testing import StorageContract
from tests.testing.faults import found_by


class Wrapped:
    """`teamchat.Storage`: SQLite. What is wrong is in the subclasses."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        return self.inner.read()

    def write(self) -> AbstractAsyncContextManager[Transaction]:
        return self.inner.write()

    def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
        return self.inner.follow(after)

    async def log_bounds(self) -> tuple[int, int]:
        return await self.inner.log_bounds()

    async def position(self) -> int:
        return await self.inner.position()


Ids = Sequence[str] | None


class WrappedTransaction:
    """`teamchat.Transaction`, as another does it."""

    def __init__(self, inner: Transaction) -> None:
        self.inner = inner

    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        return await self.inner.fetch(sql, *params)

    async def append(self, event: Event) -> None:
        await self.inner.append(event)

    async def blank(self, room_id: str, message_ids: Ids = None, fields: Sequence[str] | None = None) -> None:
        await self.inner.blank(room_id, message_ids, fields)

    async def advance_log(self, last: int) -> None:
        await self.inner.advance_log(last)


class Contract(StorageContract):
    storage: Callable[[Storage], Wrapped]

    @asynccontextmanager
    async def open_storage(self, tmp_path: Path) -> AsyncIterator[Storage]:
        async with open_sqlite(SqliteOptions(path=str(tmp_path))) as inner:
            yield self.storage(inner)


@found_by(
    test_what_was_written_is_there_when_opened_again="gone when it is opened again",
    test_two_that_open_an_empty_place_at_once_agree="Extra items in the right set",
)
class TestForgetsWhatItWrote(Contract):
    storage = Wrapped

    @asynccontextmanager
    async def open_storage(self, tmp_path: Path) -> AsyncIterator[Storage]:
        async with open_sqlite(SqliteOptions(path=str(tmp_path))) as inner:
            yield inner
            async with inner.write() as tx:
                await tx.fetch("delete from server_settings")


@found_by(
    test_a_body_that_raises_changes_nothing="a write whose body raised has changed a row",
    test_blanking_that_is_taken_back_has_changed_nothing="a write whose body raised has blanked events",
    test_a_write_within_a_write_of_the_same_task_is_refused="a write within a write has changed something",
    test_one_body_that_raises_does_not_harm_those_beside_it="they alone, are to change nothing",
    test_what_nobody_could_read_from_the_log_is_refused_in_its_transaction="failed left something",
)
class TestCommitsWhatFailed(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def write(self) -> AsyncIterator[Transaction]:
            failure: Exception | None = None
            async with self.inner.write() as tx:
                try:
                    yield tx
                except Exception as error:
                    failure = error
            if failure is not None:
                raise failure


@found_by(test_a_body_that_hides_a_failed_statement_changes_nothing="DID NOT RAISE")
class TestForgetsFailures(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def write(self) -> AsyncIterator[Transaction]:
            async with self.inner.write() as tx:
                yield Forgetful(tx)


@found_by(test_a_write_is_refused_with_a_statement_that_returns_nothing="DID NOT RAISE")
class TestNeverAsksWhetherWhatItSentWasDone(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def write(self) -> AsyncIterator[Transaction]:
            async with self.inner.write() as tx:
                yield Careless(tx)


class Careless(WrappedTransaction):
    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        if sql.startswith("insert") and "on conflict" not in sql:
            sql = f"{sql} on conflict do nothing"
        return await self.inner.fetch(sql, *params)


class Forgetful(WrappedTransaction):
    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        if "absent" in sql:
            raise StorageError("There is no such table.")
        return await self.inner.fetch(sql, *params)


@found_by(test_bodies_of_writing_transactions_run_one_at_a_time="before the first one had ended")
class TestLetsBodiesBeginBesideEachOther(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def write(self) -> AsyncIterator[Transaction]:
            async with AsyncExitStack() as stack:
                yield BegunByItsFirstStatement(self.inner, stack)


class BegunByItsFirstStatement:
    """`teamchat.Transaction` that waits for its turn no earlier than it has to."""

    def __init__(self, storage: Storage, stack: AsyncExitStack) -> None:
        self.storage = storage
        self.stack = stack
        self.begun: Transaction | None = None

    async def begin(self) -> Transaction:
        if self.begun is None:
            self.begun = await self.stack.enter_async_context(self.storage.write())
        return self.begun

    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        return await (await self.begin()).fetch(sql, *params)

    async def append(self, event: Event) -> None:
        await (await self.begin()).append(event)

    async def blank(self, room_id: str, message_ids: Ids = None, fields: Sequence[str] | None = None) -> None:
        await (await self.begin()).blank(room_id, message_ids, fields)

    async def advance_log(self, last: int) -> None:
        await (await self.begin()).advance_log(last)


@found_by(test_a_write_within_a_write_of_the_same_task_is_refused="DID NOT RAISE")
class TestJoinsTheWriteThatItsTaskHas(Contract):
    class storage(Wrapped):  # noqa: N801
        task, tx = None, None

        @asynccontextmanager
        async def write(self) -> AsyncIterator[Any]:
            task = trio.lowlevel.current_task()
            if self.task is task:
                yield self.tx
                return
            async with self.inner.write() as tx:
                self.task, self.tx = task, tx
                try:
                    yield tx
                finally:
                    self.task = None


@found_by(
    test_a_read_sees_one_snapshot="it must be one snapshot",
    test_a_transaction_that_has_ended_takes_nothing_more="DID NOT RAISE",
)
class TestReadsNoSnapshot(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def read(self) -> AsyncIterator[Transaction]:
            yield EachAlone(self.inner)


class EachAlone:
    """`teamchat.Transaction`, each statement of which is one of its own."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner

    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        async with self.inner.read() as tx:
            return await tx.fetch(sql, *params)

    async def append(self, event: Event) -> None:
        raise StorageError("A reading transaction changes nothing.")

    async def blank(self, room_id: str, message_ids: Ids = None, fields: Sequence[str] | None = None) -> None:
        raise StorageError("A reading transaction changes nothing.")

    async def advance_log(self, last: int) -> None:
        raise StorageError("A reading transaction changes nothing.")


@found_by(
    test_rows_can_not_be_changed_in_a_reading_transaction="DID NOT RAISE",
    test_a_transaction_that_has_ended_takes_nothing_more="DID NOT RAISE",
)
class TestLetsReadersWrite(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def read(self) -> AsyncIterator[Transaction]:
            async with self.inner.read() as tx:
                yield Obliging(tx, self.inner)


class Obliging(WrappedTransaction):
    def __init__(self, inner: Transaction, storage: Storage) -> None:
        super().__init__(inner)
        self.storage = storage

    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        if not sql.startswith("insert"):
            return await self.inner.fetch(sql, *params)
        async with self.storage.write() as tx:
            return await tx.fetch(sql, *params)


@found_by(test_follow_begins_after_the_number_it_is_given="follow(3) begins after 3")
class TestFollowsFromTheBeginning(Contract):
    class storage(Wrapped):  # noqa: N801
        def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
            return self.inner.follow(0)


@found_by(test_what_was_said_in_a_room_that_is_being_removed_is_given_to_nobody="is given what was said")
class TestReadsTheLogByItself(Contract):
    class storage(Wrapped):  # noqa: N801
        async def follow(self, after: int) -> AsyncIterator[Sequence[LoggedEvent]]:
            followed = cast("AsyncGenerator[Sequence[LoggedEvent], None]", self.inner.follow(after))
            async with aclosing(followed) as log:
                async for events in log:
                    yield [await self._stored(event) for event in events]

        async def _stored(self, event: LoggedEvent) -> LoggedEvent:
            async with self.inner.read() as tx:
                [row] = await tx.fetch(
                    "select payload, text_room, text_message from events where seq = $1", event.seq
                )
            payload, room, message = row
            return msgspec.structs.replace(event, payload=payload, text_room=room, text_message=message)


@found_by(
    test_follow_gives_what_was_logged_before_and_what_comes="audience=None",
    test_events_of_types_that_are_not_teamchats_are_taken="None",
    test_what_nobody_could_read_from_the_log_is_refused_in_its_transaction="DID NOT RAISE",
)
class TestTellsEverybody(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def write(self) -> AsyncIterator[Transaction]:
            async with self.inner.write() as tx:
                yield ToEverybody(tx)


class ToEverybody(WrappedTransaction):
    async def append(self, event: Event) -> None:
        await self.inner.append(msgspec.structs.replace(event, audience=None))


@found_by(
    test_the_position_is_that_of_the_last_event_a_read_would_see="assert 0 == 1",
    test_an_advanced_log_goes_on_behind_and_never_back="assert 0 == 7",
    test_what_one_storage_wrote_another_on_the_same_place_reads="does not know of another storage",
)
class TestLosesItsPlace(Contract):
    class storage(Wrapped):  # noqa: N801
        async def position(self) -> int:
            return 0


@found_by(
    test_a_trimmed_log_tells_how_far_back_it_reaches="begins after the last number ever given",
    test_an_advanced_log_goes_on_behind_and_never_back="assert (1, 0) == (8, 7)",
)
class TestBoundsOfAnEmptyLog(Contract):
    class storage(Wrapped):  # noqa: N801
        async def log_bounds(self) -> tuple[int, int]:
            first, last = await self.inner.log_bounds()
            return (1, 0) if first > last else (first, last)


@found_by(
    test_an_event_can_not_be_appended_in_a_reading_transaction="DID NOT RAISE",
    test_the_log_can_not_be_advanced_in_a_reading_transaction="DID NOT RAISE",
    test_a_reading_transaction_can_not_blank="DID NOT RAISE",
    test_a_transaction_that_has_ended_takes_nothing_more="DID NOT RAISE",
)
class TestLetsReadersLog(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def read(self) -> AsyncIterator[Transaction]:
            async with self.inner.read() as tx:
                yield Silent(tx)


class Silent(WrappedTransaction):
    async def append(self, event: Event) -> None:
        pass

    async def advance_log(self, last: int) -> None:
        pass

    async def blank(self, room_id: str, message_ids: Ids = None, fields: Sequence[str] | None = None) -> None:
        pass


@found_by(
    test_blanking_takes_the_text_of_a_message_and_keeps_the_order="assert ['one'",
    test_blanking_a_place_takes_all_that_was_said_in_it="assert ['text'",
    test_blanking_reaches_what_the_same_transaction_appended="assert ['before'",
    test_blanking_reaches_what_is_committed_together_with_it="assert ['text']",
    test_blanking_fields_takes_those_alone_and_the_message_is_found_again="shows still",
)
class TestKeepsWhatWasSaid(Contract):
    class storage(Wrapped):  # noqa: N801
        @asynccontextmanager
        async def write(self) -> AsyncIterator[Transaction]:
            async with self.inner.write() as tx:
                yield Retentive(tx)


class Retentive(WrappedTransaction):
    async def blank(self, room_id: str, message_ids: Ids = None, fields: Sequence[str] | None = None) -> None:
        pass
