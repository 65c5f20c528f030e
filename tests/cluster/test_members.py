"""Who is a member, and who is taken for dead; the secrets and images of members."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from teamchat.accounts import keys
from teamchat.cluster import IMAGES_KEY, Members, agree_on_images, agree_on_secret
from teamchat.cluster.members import MOST_UNCHANGED
from teamchat.errors import SettingsError
from teamchat.interfaces import Storage, Transaction
from teamchat.testing.images import MemoryStore
from tests.storages import open_storage


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_storage(tmp_path) as opened:
        yield opened


async def joined(storage: Storage) -> Members:
    members = Members(storage)
    async with storage.write() as tx:
        await members.join_in(tx)
    return members


async def ids(storage: Storage) -> set[str]:
    async with storage.read() as tx:
        return {member for (member,) in await tx.fetch("select id from members")}


async def renew(_: Transaction) -> None:
    """Nothing was made with an older secret."""


async def test_who_comes_second_tells_the_first(storage: Storage) -> None:
    first = await joined(storage)
    assert (first.others, (await storage.log_bounds())[1]) == (0, 0)
    second = await joined(storage)
    assert (second.others, (await storage.log_bounds())[1]) == (1, 1)
    await first.beat()
    assert first.others == 1


async def test_who_leaves_is_no_member_any_more(storage: Storage) -> None:
    first, second = await joined(storage), await joined(storage)
    await second.leave()
    await first.beat()
    assert first.others == 0
    assert await ids(storage) == {first.id}


async def test_who_stands_still_is_removed_with_its_streams(storage: Storage) -> None:
    alive, beating, dead = [await joined(storage) for _ in range(3)]
    async with storage.write() as tx:
        await tx.fetch("insert into streams values ($1, 1, 'u', 0)", dead.id)
    for _ in range(MOST_UNCHANGED + 1):
        assert dead.id in await ids(storage)
        await beating.beat(counts=False)
        await alive.beat()
    assert await ids(storage) == {alive.id, beating.id}
    assert alive.others == 1
    async with storage.read() as tx:
        assert await tx.fetch("select 1 from streams") == []


async def test_looks_that_come_early_do_not_count(storage: Storage) -> None:
    eager, slow = await joined(storage), await joined(storage)
    for _ in range(5 * MOST_UNCHANGED):
        await eager.beat(counts=False)
    assert slow.id in await ids(storage)


async def test_who_was_removed_though_it_lives_enters_again(storage: Storage) -> None:
    member = await joined(storage)
    async with storage.write() as tx:
        await tx.fetch("delete from members")
    assert await member.beat() is True
    assert await member.beat() is False
    assert await ids(storage) == {member.id}


async def test_a_secret_is_changed_while_nobody_runs(storage: Storage) -> None:
    renewed = []

    async def note(_: Transaction) -> None:
        renewed.append(1)

    first = Members(storage)
    await agree_on_secret(storage, first, "one", note)
    await first.leave()
    again = Members(storage)
    await agree_on_secret(storage, again, "one", note)
    await again.leave()
    await agree_on_secret(storage, Members(storage), "another", note)
    assert len(renewed) == 2


async def test_another_secret_is_refused_beside_a_living_member(storage: Storage) -> None:
    living = Members(storage)
    await agree_on_secret(storage, living, "one", renew)
    refused: list[str] = []

    async def intrude() -> None:
        try:
            await agree_on_secret(storage, Members(storage), "another", renew)
        except SettingsError as error:
            refused.append(str(error))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(intrude)
        while not refused:
            await living.beat(counts=False)
            await trio.sleep(0.05)
    assert "auth.jwtSecret" in refused[0]
    assert await ids(storage) == {living.id}
    same = Members(storage)
    await agree_on_secret(storage, same, "one", renew)
    assert same.others == 1


async def test_another_secret_is_taken_when_the_member_turns_out_to_be_dead(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.cluster.agreement._WATCH_SECONDS", 0.0)
    await agree_on_secret(storage, Members(storage), "one", renew)
    heir = Members(storage)
    await agree_on_secret(storage, heir, "another", renew)
    assert await ids(storage) == {heir.id}


def test_a_mark_tells_secrets_apart_and_no_more() -> None:
    marks = {keys.mark(b"secret number %d of the tests, long enough" % number) for number in range(100)}
    assert len(marks) == 100
    assert {len(bytes.fromhex(mark)) for mark in marks} == {5}


async def test_images_in_one_place_are_as_they_should_be(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    images = MemoryStore()
    for _ in range(2):
        await agree_on_images(storage, await joined(storage), images)
    assert not caplog.records
    assert await images.get(IMAGES_KEY) is not None


async def test_images_in_two_places_are_told(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    await agree_on_images(storage, await joined(storage), MemoryStore())
    await agree_on_images(storage, await joined(storage), MemoryStore())
    assert ["images.path" in record.message for record in caplog.records] == [True]


async def test_images_that_were_moved_while_nobody_ran_are_nothing_to_tell(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = MemoryStore()
    await elsewhere.put(IMAGES_KEY, b"another")
    for images in (MemoryStore(), elsewhere, MemoryStore(), elsewhere):
        members = await joined(storage)
        await agree_on_images(storage, members, images)
        await members.leave()
    assert not caplog.records


async def test_images_that_are_away_keep_no_server_from_starting(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    class Away(MemoryStore):
        async def get(self, key: str) -> Any:
            raise OSError("away")

    await agree_on_images(storage, await joined(storage), Away())
    assert len(caplog.records) == 1
