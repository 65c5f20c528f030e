"""What a storage's log must do when a message is edited or deleted: let go of what was said in it (X-15)."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
import pytest
import trio

from teamchat.errors import StorageError
from teamchat.events import Event, LoggedEvent
from teamchat.interfaces import Storage
from teamchat.testing.storage_steps import followed

_EMPTY = {"content": "", "reactions": {}}


def saying(room_id: str, message_id: str, content: str) -> Event:
    """Return an event that carries what was said in a message."""
    payload = {"id": message_id, "content": content, "reactions": {"👍": ["a"]}, "images": ["1.png"]}
    return Event("TEST", msgspec.json.encode(payload).decode(), None, room_id, message_id)


def quoting(room_id: str, message_id: str) -> Event:
    """Return an event that carries a message which shows another."""
    payload = {"id": message_id, "content": "text", "quoted": {"content": "of another"}}
    return Event("TEST", msgspec.json.encode(payload).decode(), None, room_id, message_id)


def said(event: LoggedEvent) -> str:
    """Return what an event says."""
    return str(msgspec.json.decode(event.payload)["content"])


class BlankingContract:
    """The part of a storage's contract that is about `Transaction.blank`."""

    @abstractmethod
    def open_storage(self, tmp_path: Path) -> AbstractAsyncContextManager[Storage]:
        """Open the storage that belongs to `tmp_path`."""

    async def test_blanking_takes_the_text_of_a_message_and_keeps_the_order(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await _append(storage, saying("p", "1", "one"), saying("p", "2", "two"), saying("q", "1", "else"))
            async with storage.write() as tx:
                await tx.blank("p", ["1", "unknown"])
                await tx.append(saying("p", "1", "new"))
            events = await followed(storage, 0, 4)
        assert [said(event) for event in events] == ["", "two", "else", "new"]
        assert [event.seq for event in events] == [1, 2, 3, 4]
        left = msgspec.json.decode(events[0].payload)
        assert left == {"id": "1"} | _EMPTY, "of a blanked payload stays what teamchat.events.blanked says"
        assert [(event.text_room, event.text_message) for event in events] == [
            *((None, None), ("p", "2"), ("q", "1"), ("p", "1"))
        ], "an event names whose text it carries, as long as it does"

    async def test_blanking_a_place_takes_all_that_was_said_in_it(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await _append(storage, *[saying("p", str(number), "text") for number in range(700)])
            await _append(storage, saying("q", "1", "else"), Event("TEST", '{"content": "no message"}'))
            async with storage.write() as tx:
                await tx.blank("p")
            events = await followed(storage, 0, 702)
        assert [said(event) for event in events] == [""] * 700 + ["else", "no message"]

    async def test_blanking_reaches_what_the_same_transaction_appended(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            async with storage.write() as tx:
                await tx.append(saying("p", "1", "before"))
                await tx.blank("p", ["1"])
                await tx.append(saying("p", "1", "after"))
            assert [said(event) for event in await followed(storage, 0, 2)] == ["", "after"]

    async def test_blanking_reaches_what_is_committed_together_with_it(self, tmp_path: Path) -> None:
        """Transactions that come together may share a commit."""
        async with self.open_storage(tmp_path) as storage:
            appended = trio.Event()

            async def append() -> None:
                async with storage.write() as tx:
                    await tx.append(saying("p", "1", "text"))
                    appended.set()

            async def blank() -> None:
                await appended.wait()
                async with storage.write() as tx:
                    await tx.blank("p", ["1"])

            async with trio.open_nursery() as nursery:
                nursery.start_soon(append)
                nursery.start_soon(blank)
            assert [said(event) for event in await followed(storage, 0, 1)] == [""]

    async def test_blanking_fields_takes_those_alone_and_the_message_is_found_again(
        self, tmp_path: Path
    ) -> None:
        async with self.open_storage(tmp_path) as storage:
            await _append(storage, quoting("p", "1"), quoting("p", "2"))
            async with storage.write() as tx:
                await tx.append(quoting("p", "1"))
                await tx.blank("p", ["1"], ["quoted"])
            events = await followed(storage, 0, 3)
            assert ["quoted" in msgspec.json.decode(event.payload) for event in events] == [
                *(False, True, False)
            ], "what was taken out of an event it shows still"
            assert [said(event) for event in events] == ["text"] * 3
            assert [(event.text_room, event.text_message) for event in events] == [
                *(("p", "1"), ("p", "2"), ("p", "1"))
            ]
            async with storage.write() as tx:
                await tx.blank("p", ["1"])
            assert [said(event) for event in await followed(storage, 0, 3)] == ["", "text", ""]

    async def test_blanking_that_is_taken_back_has_changed_nothing(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage:
            await _append(storage, saying("p", "1", "stays"))
            appended = trio.Event()

            async def append() -> None:
                async with storage.write() as tx:
                    await tx.append(saying("p", "2", "stays too"))
                    appended.set()

            async def fail() -> None:
                await appended.wait()
                with pytest.raises(KeyError):  # noqa: PT012
                    async with storage.write() as tx:
                        await tx.blank("p")
                        raise KeyError

            async with trio.open_nursery() as nursery:
                nursery.start_soon(append)
                nursery.start_soon(fail)
            assert [said(event) for event in await followed(storage, 0, 2)] == ["stays", "stays too"], (
                "a write whose body raised has blanked events"
            )

    async def test_what_was_said_in_a_room_that_is_being_removed_is_given_to_nobody(
        self, tmp_path: Path
    ) -> None:
        """It stands in the table until it is blanked, a part at a time; `storage.log.logged_in` hides it."""
        async with self.open_storage(tmp_path) as storage:
            await _append(storage, saying("p", "1", "one"), saying("q", "1", "else"))
            async with storage.write() as tx:
                await tx.fetch("insert into rooms (id, kind, created_at) values ('p', 'gone', 1)")
            events = await followed(storage, 0, 2)
        assert [said(event) for event in events] == ["", "else"], "who follows is given what was said"
        assert [event.text_room for event in events] == [None, "q"]

    async def test_a_reading_transaction_can_not_blank(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as storage, storage.read() as tx:
            with pytest.raises(StorageError):
                await tx.blank("p")


async def _append(storage: Storage, *events: Event) -> None:
    async with storage.write() as tx:
        for event in events:
            await tx.append(event)
