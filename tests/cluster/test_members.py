"""Who is a member, and who is taken for dead; the secrets and images of members."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from teamchat.accounts import keys
from teamchat.cluster import (
    Members,
    PlaceOfFiles,
    PlaceOfImages,
    agree_on_place,
    agree_on_secret,
)
from teamchat.cluster.agreement import Place
from teamchat.cluster.members import MOST_UNCHANGED
from teamchat.errors import SettingsError
from teamchat.interfaces import Storage, Transaction
from teamchat.testing.files import MemoryFileStore
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


PLACES: list[Callable[[], Place]] = [
    lambda: PlaceOfImages(MemoryStore()),
    lambda: PlaceOfFiles(MemoryFileStore()),
]
each_place = pytest.mark.parametrize("make", PLACES, ids=["images", "files"])


@each_place
async def test_one_place_is_as_it_should_be(
    storage: Storage, caplog: pytest.LogCaptureFixture, make: Callable[[], Place]
) -> None:
    place = make()
    assert await place.name() is None
    for _ in range(2):
        await agree_on_place(storage, await joined(storage), place)
    assert not caplog.records
    assert await place.name() is not None


@each_place
async def test_two_places_are_told(
    storage: Storage, caplog: pytest.LogCaptureFixture, make: Callable[[], Place]
) -> None:
    await agree_on_place(storage, await joined(storage), make())
    await agree_on_place(storage, await joined(storage), make())
    assert [record.message for record in caplog.records] == [make().warning]


@each_place
async def test_what_was_moved_while_nobody_ran_is_nothing_to_tell(
    storage: Storage, caplog: pytest.LogCaptureFixture, make: Callable[[], Place]
) -> None:
    elsewhere = make()
    await elsewhere.give("another")
    for place in (make(), elsewhere, make(), elsewhere):
        members = await joined(storage)
        await agree_on_place(storage, members, place)
        await members.leave()
    assert not caplog.records


@each_place
async def test_a_place_that_is_away_keeps_no_server_from_starting(
    storage: Storage, caplog: pytest.LogCaptureFixture, make: Callable[[], Place]
) -> None:
    class Away:
        setting, warning = make().setting, make().warning

        async def name(self) -> str | None:
            raise OSError("away")

        async def give(self, name: str) -> None:
            raise OSError("away")

    await agree_on_place(storage, await joined(storage), Away())
    assert len(caplog.records) == 1
