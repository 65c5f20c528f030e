"""An upgrade of a PostgreSQL database can be rehearsed."""

from __future__ import annotations

from functools import partial

import pytest
import trio
from msgspec.structs import replace
from teamchat_storage_postgres import PostgresOptions, migrations
from teamchat_storage_postgres.storage import open_postgres, present_schema, rehearse_upgrade

from teamchat import KeyedRequest, StorageError
from teamchat.accounts.idempotency import CHAT, asking, made_before
from teamchat.model import now_ms
from teamchat.storage.capability_tables import CapabilityTables, stored_in, upgrade_in
from teamchat.storage.schema import MIGRATIONS, Migration
from teamchat.testing.storage import set_value, values

NEWEST = MIGRATIONS[-1].number


async def test_a_rehearsal_changes_nothing_also_beside_a_running_server(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = Migration(NEWEST + 1, ("alter table server_settings add column novelty {int}",))
    async with open_postgres(options) as storage:
        async with storage.write() as tx:
            await set_value(tx, "kept", "yes")
        with monkeypatch.context() as version:
            version.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, later))
            found = await rehearse_upgrade(options)
        assert (found.present, found.newest, found.rows) == (NEWEST, NEWEST + 1, 1)
        assert await values(storage) == {"kept": "yes"}
        async with storage.read() as tx:
            assert await tx.fetch("select version from teamchat_schema") == [(NEWEST,)]


async def test_a_rehearsal_finds_what_would_go_wrong(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_postgres(options):
        pass
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, Migration(NEWEST + 1, ("nonsense",))))
    with pytest.raises(StorageError, match="refused a statement"):
        await rehearse_upgrade(options)


async def test_a_rehearsal_tries_the_tables_of_capabilities_too(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def polls(*more: str) -> CapabilityTables:
        statements = ("create table polls (id text primary key){table_end}", *more)
        return CapabilityTables("polls", [Migration(1, statements)], "a plugin")

    later = Migration(NEWEST + 1, ("alter table server_settings add column novelty {int}",))
    async with open_postgres(options) as storage:
        with monkeypatch.context() as version:
            version.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, later))
            await rehearse_upgrade(options, partial(upgrade_in, wanted=[polls()]))
            # The second is put off, and refused with what is sent last.
            for wrong in ("select * from nowhere", "insert into polls (id) values (null)"):
                with pytest.raises(StorageError, match="refused a statement"):
                    await rehearse_upgrade(options, partial(upgrade_in, wanted=[polls(wrong)]))
        async with storage.read() as tx:
            assert await tx.fetch("select to_regclass('polls') is null") == [(1,)]
            assert await stored_in(tx) == {}


async def test_an_upgrade_takes_its_time_and_who_starts_meanwhile_waits_for_its_end(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = replace(options, statement_seconds=0.5, acquire_seconds=1.0)
    slow = Migration(NEWEST + 1, ("create table novelties (id text primary key)", "select pg_sleep(1.5)"))

    async def start() -> None:
        async with open_postgres(hasty):
            pass

    async with open_postgres(options):
        monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, slow))
        await rehearse_upgrade(hasty)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(start)
            nursery.start_soon(start)
        assert await present_schema(options) == NEWEST + 1


async def test_an_upgrade_waits_for_who_uses_a_table_no_longer_than_anybody(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = Migration(NEWEST + 1, ("alter table server_settings add column novelty {int}",))
    async with open_postgres(options) as storage, storage.read() as tx:
        assert await tx.fetch("select name from server_settings") == []
        monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, later))
        with pytest.raises(StorageError, match="has too much to do"):
            async with open_postgres(replace(options, acquire_seconds=0.3)):
                pass


async def test_a_key_that_was_used_before_the_upgrade_holds(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asking(KeyedRequest("ada", CHAT, "key"), ["channel 1", "text", []])
    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "MIGRATIONS", MIGRATIONS[:20])
        async with open_postgres(options) as storage, storage.write() as tx:
            await tx.fetch(
                "insert into idempotency_keys values ('ada', 'key', $1, 'made', $2, '{\"isNew\":false}')",
                *(request.digest, now_ms()),
            )
    async with open_postgres(options) as storage, storage.read() as tx:
        assert await made_before(tx, request) == ("made", {"isNew": False})


async def test_the_schema_that_is_there_is_told_and_none_is_made_for_it(options: PostgresOptions) -> None:
    assert await present_schema(options) == 0
    assert await present_schema(options) == 0
    async with open_postgres(options):
        assert await present_schema(options) == NEWEST


async def test_an_upgrade_is_told_and_a_new_database_is_none(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "MIGRATIONS", MIGRATIONS[:-1])
        async with open_postgres(options):
            assert "upgrading" not in caplog.text
    async with open_postgres(options):
        assert f"upgrading the database to schema {NEWEST} of {NEWEST}" in caplog.text
