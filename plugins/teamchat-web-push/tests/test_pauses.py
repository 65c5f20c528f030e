"""J-4, J-5: what was held while somebody wanted no pushes, and the one push of it at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

import pytest

from teamchat import Storage
from teamchat.model import now_ms
from tests.push_world import HOUR, World


async def test_what_was_held_while_paused_is_one_push_at_the_end(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    first, second = await world.post("@bob one"), await world.direct("two")
    read = await world.post("@bob three")
    await world.go()
    assert bob.payloads == []
    await world.read(world.bob, read)
    world.ahead += HOUR + 1000
    await world.go()
    [push] = bob.payloads
    assert push["kind"] == "direct", "of three, two were read, and one is pushed as it is"
    world.ahead = 0
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    later = [await world.post(f"@bob {number}") for number in range(3)]
    await world.go()
    world.ahead += HOUR + 1000
    await world.go()
    assert len(bob.payloads) == 2
    assert bob.payloads[1]["kind"] == "summary"
    assert bob.payloads[1]["messageId"] == later[-1]
    assert bob.payloads[1]["body"] == "3 messages while it was quiet, from Admin"
    assert first != second


async def test_what_was_held_is_one_push_however_much_it_is(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    for one in (world.bob, world.cleo):
        await world.choose(one, pausedUntil=now_ms() + HOUR)
    posted = [await world.post(f"@channel {number}") for number in range(80)]
    await world.hear()
    world.ahead += 5000
    await world.send()
    world.ahead += HOUR
    await world.go()
    for browser in (bob, cleo):
        [push] = browser.payloads
        assert push["body"] == "80 messages while it was quiet, from Admin"
        assert push["messageId"] == posted[-1]
    assert Counter(await world.reasons()) == {("sent", "summary"): 160}


async def test_a_summary_counts_up_to_a_number_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("payload", "queue"):
        monkeypatch.setattr(f"teamchat_web_push.{name}.MOST_SUMMED", 40)
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    for number in range(50):
        await world.post(f"@bob {number}")
    await world.hear()
    await world.send()
    world.ahead += HOUR + 5000
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["40+ messages while it was quiet, from Admin"]
    assert Counter(await world.reasons()) == {("sent", "summary"): 40, ("skipped", "older"): 10}


class Counting:
    """A storage that counts what is asked of it."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self.count = storage, 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Counting]:
        async with self._storage.read() as tx:
            self._tx = tx
            yield self

    async def fetch(self, sql: str, *parameters: Any) -> Any:
        self.count += 1
        return await self._tx.fetch(sql, *parameters)


async def test_what_was_held_for_many_devices_is_read_at_once_device_by_device(world: World) -> None:
    people = [world.bob, world.cleo, world.bob, world.cleo, world.bob]
    devices = [(await world.subscribe(one))[1].id for one in people]
    for one in (world.bob, world.cleo):
        await world.choose(one, pausedUntil=now_ms() + HOUR)
    posted = [await world.post(f"@channel {number}") for number in range(3)]
    await world.hear()
    await world.send()
    world.ahead += HOUR + 5000
    counting = Counting(world.app.storage)
    world.queue._storage = counting  # type: ignore[assignment]
    held = await world.queue.held(world.now(), devices, 100)
    assert counting.count == 1
    for device in devices:
        assert [row.message_id for row in held if row.device.id == device] == posted[::-1]
    # Of those for which it would be too much at a time, none is begun.
    some = await world.queue.held(world.now(), devices, 4)
    assert [len(list(same)) for _, same in groupby(some, key=lambda row: row.device.id)] == [3, 3]


async def test_a_pause_that_is_ended_lets_go_what_it_held(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    await world.post("@bob one")
    await world.go()
    assert bob.payloads == []
    await world.choose(world.bob, pausedUntil=None)
    await world.go()
    assert len(bob.payloads) == 1


async def test_who_is_urgent_comes_through_with_mentions_and_direct_messages_alone(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(
        world.bob,
        pausedUntil=now_ms() + HOUR,
        urgentFrom=[world.ada.user.id],
        defaults={"channel": "all"},
    )
    await world.choose(world.bob, keywords=["deploy"])
    await world.post("nothing urgent")
    for text in ("@channel lunch", "@here tea", "they deploy tomorrow"):
        await world.post(text)
        await world.go()
    world.ahead += 3000
    await world.post("@bob fire")
    await world.post("@bob from somebody else", by=world.cleo)
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["@bob fire"]
