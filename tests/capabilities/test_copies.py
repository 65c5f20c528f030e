"""On SQLite a copy is kept before a capability's migration, as before one of teamchat's own."""

from __future__ import annotations

import stat
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from teamchat import StorageError
from teamchat.plugins import Plugins
from teamchat.settings import PluginsSettings
from teamchat.storage import capability_tables, schema
from teamchat.storage.capability_tables import CapabilityTables
from teamchat.storage.schema import MIGRATIONS, Migration
from teamchat.storage.sqlite import DATABASE_NAME, SqliteOptions, connections, open_sqlite, upgrading
from tests.capabilities.serving import plugins_with, served
from tests.capabilities.test_tables import NEW, OLD, ask, post
from tests.storages import sqlite_only

pytestmark = sqlite_only("another database has backups of its own")

NEXT = Migration(MIGRATIONS[-1].number + 1, ("create table novelties (id text primary key){table_end}",))


def wanted(plugins: Plugins) -> list[CapabilityTables]:
    return plugins.capabilities(PluginsSettings()).tables


def copies(directory: Path) -> list[str]:
    """Return what follows the database's name in the names of its copies."""
    names = [path.name.removeprefix(f"{DATABASE_NAME}.") for path in directory.glob(f"{DATABASE_NAME}.*")]
    return sorted(names)


async def in_use(tmp_path: Path) -> Path:
    """Make an installation with a poll in it, and return its data directory."""
    async with served(tmp_path, OLD) as here:
        await ask(here.app, await post(here.app))
    return tmp_path / "data"


async def test_the_copy_holds_what_was_before_and_the_log_tells_each_step(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = await in_use(tmp_path)
    assert copies(data) == []  # nothing was there before the first start
    caplog.clear()
    for _ in range(2):
        async with served(tmp_path, NEW):
            pass
    assert copies(data) == ["before-polls-2"]
    kept = data / f"{DATABASE_NAME}.before-polls-2"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with closing(apsw.Connection(str(kept))) as copy:
        assert copy.execute("select question from polls").get == "Where?"
        assert copy.execute("select max(number) from capability_migrations").get == 1
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "keeping a copy of the database before its upgrade",
        "upgrading the tables of a capability",
    ]


async def test_the_way_back_is_the_copy_and_the_plugin_before(tmp_path: Path) -> None:
    data = await in_use(tmp_path)
    async with served(tmp_path, NEW):
        pass
    (data / f"{DATABASE_NAME}.before-polls-2").replace(data / DATABASE_NAME)
    async with served(tmp_path, OLD) as here, here.app.storage.read() as tx:
        assert await tx.fetch("select question from polls") == [("Where?",)]


async def test_a_capability_that_is_new_to_a_database_in_use_has_its_copy_too(tmp_path: Path) -> None:
    async with served(tmp_path):
        pass
    async with served(tmp_path, NEW):
        pass
    assert copies(tmp_path / "data") == ["before-polls-1"]


async def test_none_is_kept_where_the_settings_say_so(tmp_path: Path) -> None:
    data = await in_use(tmp_path)
    async with open_sqlite(SqliteOptions(path=str(data), copy_before_upgrade=False)) as storage:
        await capability_tables.upgrade(storage, wanted(plugins_with(NEW)))
    assert copies(data) == []


async def test_one_copy_is_enough_for_teamchats_own_migrations_and_a_capabilitys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = await in_use(tmp_path)
    for module in (schema, connections, upgrading):
        monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, NEXT))
    async with open_sqlite(SqliteOptions(path=str(data))) as storage:
        await capability_tables.upgrade(storage, wanted(plugins_with(NEW)))
    assert copies(data) == [f"schema-{MIGRATIONS[-1].number}"]


async def test_a_process_that_was_slower_keeps_no_copy_of_what_is_upgraded(tmp_path: Path) -> None:
    data = await in_use(tmp_path)
    options = SqliteOptions(path=str(data))
    async with open_sqlite(options) as faster, open_sqlite(options) as slower:
        await capability_tables.upgrade(faster, wanted(plugins_with(NEW)))
        before = (data / f"{DATABASE_NAME}.before-polls-2").read_bytes()
        await slower.keep_copy("polls", 2)
    assert (data / f"{DATABASE_NAME}.before-polls-2").read_bytes() == before


async def test_without_room_for_the_copy_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = await in_use(tmp_path)

    def no_room(*_: object) -> None:
        raise StorageError("there is no room")

    with monkeypatch.context() as full:
        full.setattr(upgrading, "sync", no_room)
        with pytest.raises(StorageError, match="no room"):
            async with served(tmp_path, NEW):
                pass
    assert copies(data) == []
    async with served(tmp_path, OLD):
        pass  # An older plugin would be refused by newer tables.
