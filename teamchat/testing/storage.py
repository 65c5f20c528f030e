"""What every storage must do. Nothing here knows which database it is.

The tests write rows of ``server_settings`` and events, for those tables hang on nothing.
"""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from teamchat.errors import StorageError
from teamchat.events import Event, InRoom, LoggedEvent
from teamchat.interfaces import Storage
from teamchat.testing.blanking import BlankingContract
from teamchat.testing.shared_storage import SharedStorageContract
from teamchat.testing.storage_steps import (
    PATIENCE_SECONDS,
    append,
    followed,
    following,
    save,
    set_value,
    values,
)

__all__ = ["StorageContract", "append", "followed", "following", "save", "set_value", "values"]

UNFIT_EVENTS: Mapping[str, Event] = {
    "the server's own": Event("_SESSIONS_ENDED", '{"sessionIds": ["s"]}'),
    "of no type": Event("", "{}"),
    "a type that breaks the stream": Event('A","payload":1}\n\ndata: {"', "{}"),
    "the stream's own": Event("CONNECTED", "{}"),
    "no JSON": Event("TEST", "hello"),
    "cut off": Event("TEST", '{"id": "1"'),
    "NaN": Event("TEST", '{"id": NaN}'),
    "half a character": Event("TEST", '{"id": "\ud800"}'),
    "on two lines": Event("TEST", '{\n"id": 1}'),
    "not encoded": Event("TEST", cast("str", {"id": 1})),
    "bytes": Event("TEST", cast("str", b"{}")),
    "another payload than the type's": Event("NEW_MESSAGE", '{"id": 1}'),
    "an audience that is one id": Event("TEST", "{}", cast("tuple[str]", "someone")),
    "an audience of numbers": Event("TEST", "{}", cast("tuple[str]", (1, 2))),
}


class StorageContract(SharedStorageContract, BlankingContract):
    """Tests of a storage. Subclass it with a name that begins with ``Test`` and give `open_storage`::

    class TestSqlite(StorageContract):
        def open_storage(self, tmp_path):
            return open_sqlite(SqliteOptions(path=str(tmp_path)))
    """

    @abstractmethod
    def open_storage(self, tmp_path: Path) -> AbstractAsyncContextManager[Storage]:
        """Open the storage that belongs to `tmp_path`: empty at first, and the same when opened again.

        It is also opened a second time while it is open, as another process would.
        """

    async def test_what_was_written_is_read(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await save(storage, "a", "Straße 🦊 'quoted' \"twice\" \\ $1 ?")
            assert await values(storage) == {"a": "Straße 🦊 'quoted' \"twice\" \\ $1 ?"}

    async def test_what_was_written_is_there_when_opened_again(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await save(storage, "a", "1")
            await append(storage, "{}")
        async with self.open_storage(tmp_path) as storage:
            assert await values(storage) == {"a": "1"}, "what was written is gone when it is opened again"
            assert await storage.log_bounds() == (1, 1), (
                "the log is not what it was before it was opened again"
            )

    async def test_parameters_are_numbered_not_counted(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                await tx.fetch("insert into server_settings (value, name) values ($2, $1)", "name", "value")
                rows = await tx.fetch(
                    "select name from server_settings where name = $1 or value = $1", "name"
                )
            assert [tuple(row) for row in rows] == [("name",)], "$1 is the first parameter wherever it stands"

    async def test_a_statement_without_rows_gives_an_empty_list(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage, storage.write() as tx:
            assert list(await tx.fetch("delete from server_settings")) == []

    async def test_returning_gives_the_rows_that_were_changed(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await save(storage, "a", "1")
            async with storage.write() as tx:
                rows = await tx.fetch("update server_settings set value = $1 returning name, value", "2")
            assert [tuple(row) for row in rows] == [("a", "2")]

    async def test_times_in_milliseconds_and_nulls_come_back_as_they_went(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                await tx.fetch(
                    "insert into rooms (id, kind, name, name_key, created_at, updated_at)"
                    " values ($1, $2, $3, $4, $5, $6)",
                    *("c", "channel", "C", "c", 4_102_444_800_000, None),
                )
            async with storage.read() as tx:
                [row] = await tx.fetch("select created_at, updated_at from rooms")
            assert tuple(row) == (4_102_444_800_000, None)

    async def test_a_body_that_raises_changes_nothing(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            with pytest.raises(KeyError):  # noqa: PT012
                async with storage.write() as tx:
                    await set_value(tx, "a", "1")
                    await tx.append(Event("TEST", "{}"))
                    raise KeyError
            assert await values(storage) == {}, "a write whose body raised has changed a row"
            assert await storage.log_bounds() == (1, 0), "a write whose body raised has logged an event"
            await save(storage, "b", "2")
            assert await values(storage) == {"b": "2"}

    async def test_a_body_that_is_cancelled_changes_nothing(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            with trio.CancelScope() as scope:
                async with storage.write() as tx:
                    await set_value(tx, "a", "1")
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
            assert scope.cancelled_caught, "write() swallows that its body was cancelled"
            await save(storage, "b", "2")
            assert await values(storage) == {"b": "2"}, "a write whose body was cancelled has changed a row"

    async def test_one_body_that_raises_does_not_harm_those_beside_it(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:

            async def attempt(number: int) -> None:
                try:
                    async with storage.write() as tx:
                        await set_value(tx, str(number), "written")
                        if number % 3 == 0:
                            raise KeyError
                except KeyError:
                    pass

            async with trio.open_nursery() as nursery:
                for number in range(30):
                    nursery.start_soon(attempt, number)
            assert set(await values(storage)) == {str(number) for number in range(30) if number % 3}, (
                "those that raise, and they alone, are to change nothing"
            )

    async def test_a_body_that_hides_a_failed_statement_changes_nothing(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            with pytest.raises(StorageError):  # noqa: PT012
                async with storage.write() as tx:
                    await set_value(tx, "a", "1")
                    with pytest.raises(StorageError):
                        await tx.fetch("select * from absent")
            assert await values(storage) == {}, "a write has kept a part, although a statement failed"
            await save(storage, "b", "2")
            assert await values(storage) == {"b": "2"}

    @pytest.mark.parametrize("goes_on", [False, True])
    async def test_a_write_is_refused_with_a_statement_that_returns_nothing(
        self, tmp_path: Path, *, goes_on: bool
    ) -> None:
        async with self.open_storage(tmp_path) as storage:
            await save(storage, "a", "1")
            with pytest.raises(StorageError):  # noqa: PT012  # at the latest when the transaction ends
                async with storage.write() as tx:
                    await set_value(tx, "b", "2")
                    await tx.fetch("insert into server_settings (name, value) values ($1, $2)", "a", "2")
                    if goes_on:
                        await tx.fetch("select 1")
            assert await values(storage) == {"a": "1"}, "a write has kept a part, although a statement failed"

    async def test_a_write_reads_its_own_changes(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage, storage.write() as tx:
            await set_value(tx, "a", "1")
            [row] = await tx.fetch("select value from server_settings where name = $1", "a")
            assert tuple(row) == ("1",)

    async def test_a_write_is_seen_by_a_read_that_begins_after_it(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            for number in range(20):
                await save(storage, "a", str(number))
                assert await values(storage) == {"a": str(number)}

    async def test_a_read_sees_one_snapshot(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await save(storage, "a", "before")
            async with storage.read() as tx:
                first = await tx.fetch("select value from server_settings")
                await save(storage, "a", "after")
                second = await tx.fetch("select value from server_settings")
            assert [tuple(row) for row in first] == [("before",)]
            assert [tuple(row) for row in second] == [("before",)], (
                "a reading transaction saw what was written after it began: it must be one snapshot"
            )
            assert await values(storage) == {"a": "after"}

    async def test_a_read_sees_nothing_of_a_write_that_is_under_way(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage, storage.write() as tx:
            await set_value(tx, "a", "1")
            assert await values(storage) == {}, "a read saw what was not committed"

    async def test_bodies_of_writing_transactions_run_one_at_a_time(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            inside = 0

            async def count_up() -> None:
                nonlocal inside
                async with storage.write() as tx:
                    inside += 1
                    assert inside == 1, "a second body began before the first one had ended"
                    rows = await tx.fetch("select value from server_settings where name = 'count'")
                    await trio.lowlevel.checkpoint()
                    await set_value(tx, "count", str(int(rows[0][0]) + 1 if rows else 1))
                    inside -= 1

            async with trio.open_nursery() as nursery:
                for _ in range(40):
                    nursery.start_soon(count_up)
            assert await values(storage) == {"count": "40"}, (
                "what a body had read was changed before it ended"
            )

    async def test_a_write_within_a_write_of_the_same_task_is_refused(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            with trio.fail_after(PATIENCE_SECONDS), pytest.raises(StorageError):  # noqa: PT012
                async with storage.write() as outer:
                    await set_value(outer, "a", "1")
                    async with storage.write() as inner:  # It would wait for itself, and others with it.
                        await set_value(inner, "b", "2")
            await save(storage, "c", "3")
            assert await values(storage) == {"c": "3"}, "a write within a write has changed something"

    @pytest.mark.parametrize("kind", ["read", "write"])
    async def test_a_transaction_that_has_ended_takes_nothing_more(self, tmp_path: Path, kind: str) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with getattr(storage, kind)() as tx:
                await tx.fetch("select 1")
            with pytest.raises(StorageError):
                await set_value(tx, "late", "1")
            with pytest.raises(StorageError):
                await tx.fetch("select 1")
            with pytest.raises(StorageError):
                await tx.append(Event("TEST", "{}"))
            assert await values(storage) == {}, "what was written after the end of a transaction is there"

    async def test_rows_can_not_be_changed_in_a_reading_transaction(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            with pytest.raises(StorageError):
                async with storage.read() as tx:
                    await set_value(tx, "a", "1")
            assert await values(storage) == {}, "a reading transaction has changed a row"

    async def test_an_event_can_not_be_appended_in_a_reading_transaction(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage, storage.read() as tx:
            with pytest.raises(StorageError):
                await tx.append(Event("TEST", "{}"))

    @pytest.mark.parametrize("event", UNFIT_EVENTS.values(), ids=UNFIT_EVENTS)
    async def test_what_nobody_could_read_from_the_log_is_refused_in_its_transaction(
        self, tmp_path: Path, event: Event
    ) -> None:
        async with self.open_storage(tmp_path) as storage:
            await save(storage, "before", "kept")
            before = await storage.log_bounds()
            with pytest.raises(StorageError) as caught:  # noqa: PT012  # the transaction is what fails
                async with storage.write() as tx:
                    await set_value(tx, "with it", "gone")
                    await tx.append(event)
            assert "appended" in str(caught.value), "append() must ask event.check() first"
            assert await values(storage) == {"before": "kept"}, "a transaction that failed left something"
            assert await storage.log_bounds() == before, "the event is in the log"
            await append(storage, "{}")

    async def test_events_of_types_that_are_not_teamchats_are_taken(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                await tx.append(Event("search.INDEXED", '{"id": "grün"}', ("a",)))
            [event] = await followed(storage, 0, 1)
            assert (event.type, event.payload, event.audience) == ("search.INDEXED", '{"id": "grün"}', ("a",))

    async def test_an_empty_log_begins_after_its_end(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            assert await storage.log_bounds() == (1, 0)

    async def test_a_trimmed_log_tells_how_far_back_it_reaches(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            for number in range(5):
                await append(storage, str(number))
            async with storage.write() as tx:
                await tx.fetch("delete from events where seq <= $1", 3)
            assert await storage.log_bounds() == (4, 5), "log_bounds() must be the first and the last number"
            async with storage.write() as tx:
                await tx.fetch("delete from events")
            assert await storage.log_bounds() == (6, 5), (
                "an empty log begins after the last number ever given"
            )
            await append(storage, "next")
            assert await storage.log_bounds() == (6, 6)

    async def test_the_position_is_that_of_the_last_event_a_read_would_see(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            assert await storage.position() == 0
            for number in range(1, 4):
                await append(storage, str(number))
                assert await storage.position() == number
            async with storage.write() as tx:
                await tx.append(Event("TEST", "{}"))
                assert await storage.position() == 3, "what is not committed is not seen"
            async with storage.write() as tx:
                await tx.fetch("delete from events")
            assert await storage.position() == 4

    async def test_an_advanced_log_goes_on_behind_and_never_back(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                await tx.advance_log(7)
            assert await storage.log_bounds() == (8, 7)
            assert await storage.position() == 7
            await append(storage, "next")
            async with storage.write() as tx:
                await tx.advance_log(3)
            await append(storage, "and next")
            assert await storage.log_bounds() == (8, 9)
            assert [event.seq for event in await followed(storage, 0, 2)] == [8, 9]

    async def test_a_log_written_by_hand_keeps_its_numbers(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                await tx.fetch(
                    "insert into events (seq, type, payload, created_at) values ($1, $2, $3, $4)",
                    *(5, "TEST", "old", 1),
                )
                await tx.advance_log(6)
            assert await storage.log_bounds() == (5, 6)
            await append(storage, "new")
            assert [event.seq for event in await followed(storage, 0, 2)] == [5, 7]

    async def test_the_log_can_not_be_advanced_in_a_reading_transaction(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            with pytest.raises(StorageError):
                async with storage.read() as tx:
                    await tx.advance_log(1)
            assert await storage.log_bounds() == (1, 0)

    async def test_follow_gives_what_was_logged_before_and_what_comes(self, tmp_path: Path) -> None:
        of_a_room = InRoom("a room", 7, is_private=True)
        async with self.open_storage(tmp_path) as storage:
            await append(storage, "1")
            await append(storage, "2", audience=("a", "b"))
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def _later() -> None:
                    await trio.testing.wait_all_tasks_blocked()
                    await append(storage, "3", audience=())
                    await append(storage, "4", audience=of_a_room)

                events = await followed(storage, 0, 4)
        assert events == [
            LoggedEvent(1, "TEST", "1", None),
            LoggedEvent(2, "TEST", "2", ("a", "b")),
            LoggedEvent(3, "TEST", "3", ()),
            LoggedEvent(4, "TEST", "4", of_a_room),
        ]

    async def test_follow_begins_after_the_number_it_is_given(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            for number in range(1, 6):
                await append(storage, str(number))
            assert [event.seq for event in await followed(storage, 3, 2)] == [4, 5], (
                "follow(3) begins after 3"
            )

    async def test_follow_gives_a_long_log_whole(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                for number in range(2500):
                    await tx.append(Event("TEST", str(number)))
            events = await followed(storage, 0, 2500)
        assert [event.payload for event in events] == [str(number) for number in range(2500)]

    async def test_followers_see_every_event_once_and_in_one_order_under_concurrent_writers(
        self, tmp_path: Path
    ) -> None:
        writers, each = 20, 10
        seen: list[list[LoggedEvent]] = []

        async def write(storage: Storage, writer: int) -> None:
            for number in range(each):
                await append(storage, f"{writer}/{number}")

        async def follow(storage: Storage) -> None:
            seen.append(await followed(storage, 0, writers * each))

        async with self.open_storage(tmp_path) as storage, trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(follow, storage)
            for writer in range(writers):
                nursery.start_soon(write, storage, writer)
        assert seen[0] == seen[1] == seen[2], "followers saw the events in different orders"
        numbers = [event.seq for event in seen[0]]
        assert numbers == sorted(set(numbers)), (
            "a follower saw events twice, or not in the order of their numbers"
        )
        assert len(numbers) == writers * each
        for writer in range(writers):
            own = [event.payload for event in seen[0] if event.payload.startswith(f"{writer}/")]
            assert own == [f"{writer}/{number}" for number in range(each)]

    async def test_an_event_that_is_followed_has_its_change_committed(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage, trio.open_nursery() as nursery:

            async def write() -> None:
                for number in range(20):
                    async with storage.write() as tx:
                        await tx.append(Event("TEST", str(number)))
                        await set_value(tx, str(number), "there")

            nursery.start_soon(write)
            seen = 0
            with trio.fail_after(PATIENCE_SECONDS):
                async with following(storage, 0) as batches:
                    async for batch in batches:
                        there = await values(storage)
                        early = [event.seq for event in batch if event.payload not in there]
                        assert not early, f"events {early} were followed before their change was committed"
                        seen += len(batch)
                        if seen == 20:
                            break
