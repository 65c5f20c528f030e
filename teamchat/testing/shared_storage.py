"""The contract of a storage that several processes have open, held to as two storages in one process."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import cast

import trio
import trio.testing

from teamchat.events import Event, LoggedEvent
from teamchat.interfaces import MOST_CARRIED_BYTES, SignalCarrier, Storage
from teamchat.testing.storage_steps import PATIENCE_SECONDS, append, followed, save, set_value, values

_AGAIN_SECONDS = 0.2
"""What is carried may be lost, so it is carried again."""


class SharedStorageContract(ABC):
    """The part of `teamchat.testing.StorageContract` about several storages on one place."""

    @abstractmethod
    def open_storage(self, tmp_path: Path) -> AbstractAsyncContextManager[Storage]:
        """Open the storage that belongs to `tmp_path`; it may be open already."""

    async def test_what_one_storage_wrote_another_on_the_same_place_reads(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as one, self.open_storage(tmp_path) as other:
            for number in range(1, 21):
                writer, reader = (one, other) if number % 2 else (other, one)
                async with writer.write() as tx:
                    await set_value(tx, "a", str(number))
                    await tx.append(Event("TEST", str(number)))
                seen = await values(reader)
                assert seen == {"a": str(number)}, "a storage does not see what another has committed"
                assert await reader.position() == number, (
                    "position() does not know of another storage's event"
                )

    async def test_bodies_of_two_storages_take_turns(self, tmp_path: Path) -> None:
        async def count_up(storage: Storage) -> None:
            async with storage.write() as tx:
                rows = await tx.fetch("select value from server_settings where name = 'count'")
                await trio.lowlevel.checkpoint()
                await set_value(tx, "count", str(int(rows[0][0]) + 1 if rows else 1))

        async with self.open_storage(tmp_path) as one, self.open_storage(tmp_path) as other:
            with trio.fail_after(PATIENCE_SECONDS):
                async with trio.open_nursery() as nursery:
                    for number in range(60):
                        nursery.start_soon(count_up, other if number % 3 else one)
            assert await values(one) == {"count": "60"}, "two storages wrote at once"
            assert await values(other) == {"count": "60"}, "the two storages do not agree"

    async def test_followers_of_two_storages_see_the_events_of_both_in_one_order_without_a_gap(
        self, tmp_path: Path
    ) -> None:
        writers, each = 8, 15
        seen: list[list[LoggedEvent]] = []

        async def write(storage: Storage, writer: int) -> None:
            for number in range(each):
                await append(storage, f"{writer}/{number}")

        async def follow(storage: Storage) -> None:
            seen.append(await followed(storage, 0, writers * each))

        async with (
            self.open_storage(tmp_path) as one,
            self.open_storage(tmp_path) as other,
            trio.open_nursery() as nursery,
        ):
            for storage in (one, other, one, other):
                nursery.start_soon(follow, storage)
            for writer in range(writers):
                nursery.start_soon(write, other if writer % 2 else one, writer)
        assert seen[0] == seen[1] == seen[2] == seen[3], "followers saw the events in different orders"
        numbers = [event.seq for event in seen[0]]
        assert numbers == list(range(1, writers * each + 1)), "there is a gap, or an event came twice"
        for writer in range(writers):
            own = [event.payload for event in seen[0] if event.payload.startswith(f"{writer}/")]
            assert own == [f"{writer}/{number}" for number in range(each)]

    async def test_who_waits_for_events_is_woken_by_another_storage(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as one, self.open_storage(tmp_path) as other:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def _later() -> None:
                    await trio.testing.wait_all_tasks_blocked()
                    await append(other, "from elsewhere")

                [event] = await followed(one, 0, 1)
            assert event.payload == "from elsewhere"

    async def test_x8_what_one_carries_another_hears(self, tmp_path: Path) -> None:
        async with self.open_storage(tmp_path) as one, self.open_storage(tmp_path) as other:
            if not isinstance(one, SignalCarrier) or not isinstance(other, SignalCarrier):
                return  # A storage may do without: signals stay within the process then.
            longest = "ä" * (MOST_CARRIED_BYTES // 2)
            heard = await _heard(one, other, ["first", 'it\'s \\ "quoted" $1', longest])
            assert heard[-3:] == ["first", 'it\'s \\ "quoted" $1', longest], "texts were changed on the way"
            assert await one.log_bounds() == (1, 0), "what is carried is in the log"

    async def test_two_that_open_an_empty_place_at_once_agree(self, tmp_path: Path) -> None:
        opened, all_open = 0, trio.Event()

        async def open_and_write(number: int) -> None:
            nonlocal opened
            async with self.open_storage(tmp_path) as storage:
                opened += 1
                if opened == 4:
                    all_open.set()
                await all_open.wait()
                await save(storage, str(number), "there")

        with trio.fail_after(PATIENCE_SECONDS):
            async with trio.open_nursery() as nursery:
                for number in range(4):
                    nursery.start_soon(open_and_write, number)
        async with self.open_storage(tmp_path) as storage:
            assert set(await values(storage)) == {"0", "1", "2", "3"}


async def _heard(sender: SignalCarrier, listener: SignalCarrier, texts: Sequence[str]) -> list[str]:
    """Carry texts until the last one is heard, each sent again while nothing of it is; return what was."""
    heard: list[str] = []

    async def listen() -> None:
        carried = cast("AsyncGenerator[str, None]", listener.carried())
        async with aclosing(carried) as found:
            async for text in found:
                heard.append(text)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        with trio.fail_after(PATIENCE_SECONDS):
            for text in texts:
                while text not in heard:
                    await sender.carry(text)
                    with trio.move_on_after(_AGAIN_SECONDS):
                        while text not in heard:
                            await trio.testing.wait_all_tasks_blocked(0.001)
        nursery.cancel_scope.cancel()
    return list(dict.fromkeys(heard))
