"""An upgrade keeps a copy of what was, can be rehearsed, and can be taken back."""

from __future__ import annotations

import fcntl
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import apsw
import pytest

from teamchat import KeyedRequest, events
from teamchat.accounts.idempotency import CHAT, asking, made_before
from teamchat.errors import StorageError
from teamchat.model import Author, Message, ThreadMeta, UserName, now_ms
from teamchat.model.ids import new_conversation_id, new_id
from teamchat.storage import schema
from teamchat.storage.capability_tables import CapabilityTables, upgrade_in
from teamchat.storage.log import logged_in
from teamchat.storage.schema import MIGRATIONS, Migration
from teamchat.storage.sqlite import (
    DATABASE_NAME,
    SqliteOptions,
    connections,
    open_sqlite,
    present_schema,
    rehearse_upgrade,
    upgrading,
)
from teamchat.testing.storage import set_value, values

NEWEST = MIGRATIONS[-1].number
NEXT = Migration(NEWEST + 1, ("create table novelties (id text primary key){table_end}",))
BROKEN = Migration(NEWEST + 1, ("create table novelties (id text primary key){table_end}", "nonsense"))
HARMFUL = Migration(NEWEST + 1, ("delete from server_settings",))


@pytest.fixture
async def options(tmp_path: Path) -> SqliteOptions:
    """A database of this version, with something in it."""
    options = SqliteOptions(path=str(tmp_path))
    async with open_sqlite(options) as storage, storage.write() as tx:
        await set_value(tx, "kept", "yes")
    return options


def know(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> None:
    """Become a later version, with more migrations."""
    for module in (schema, connections, upgrading):
        monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, *more))


@contextmanager
def no_room() -> Iterator[None]:
    """Let nothing be written beyond what a database that is open needs beside it, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (48 * 1024, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def version(file: Path) -> int:
    connection = apsw.Connection(str(file))
    try:
        return connections.version_of(connection)
    finally:
        connection.close()


async def test_an_upgrade_keeps_a_copy_of_what_was(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, NEXT)
    async with open_sqlite(options) as storage:
        assert await values(storage) == {"kept": "yes"}
    kept = tmp_path / f"{DATABASE_NAME}.schema-{NEWEST}"
    assert (version(kept), version(tmp_path / DATABASE_NAME)) == (NEWEST, NEWEST + 1)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_an_upgrade_tells_how_far_it_is(
    options: SqliteOptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    know(monkeypatch, NEXT)
    async with open_sqlite(options):
        pass
    assert [record.getMessage() for record in caplog.records] == [
        "keeping a copy of the database before its upgrade",
        "upgrading the database",
    ]


async def test_the_way_back_is_the_copy_and_the_version_before(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        know(later, NEXT)
        async with open_sqlite(options) as storage, storage.write() as tx:
            await set_value(tx, "written", "after the upgrade")
    with pytest.raises(StorageError, match="Install the version that wrote it"):
        async with open_sqlite(options):
            pass
    (tmp_path / f"{DATABASE_NAME}.schema-{NEWEST}").replace(tmp_path / DATABASE_NAME)
    async with open_sqlite(options) as storage:
        assert await values(storage) == {"kept": "yes"}


async def test_who_went_back_and_upgrades_again_has_a_copy_of_what_was_then(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / f"{DATABASE_NAME}.schema-{NEWEST}"
    with monkeypatch.context() as later:
        know(later, NEXT)
        async with open_sqlite(options):
            pass
    (tmp_path / DATABASE_NAME).write_bytes(kept.read_bytes())
    async with open_sqlite(options) as storage, storage.write() as tx:
        await set_value(tx, "written", "since")
    know(monkeypatch, NEXT)
    async with open_sqlite(options):
        pass
    assert b"since" in kept.read_bytes()


async def test_copies_of_processes_that_were_killed_are_removed_and_no_others(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, NEXT)
    outside = tmp_path.with_name(f"{tmp_path.name}-outside")
    names = [f".{DATABASE_NAME}-{digit * 16}" for digit in "abcd"]
    killed, beside, held, link = (tmp_path / name for name in names)
    journal = tmp_path / f"{names[0]}-journal"
    for file in (killed, journal, held, outside):
        file.write_bytes(b"half")
    beside.mkdir()
    link.symlink_to(outside)
    with held.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        async with open_sqlite(options):
            pass
    assert not killed.exists()
    assert not journal.exists()
    assert held.exists()
    assert outside.read_bytes() == b"half"


async def test_neither_a_new_database_nor_one_that_is_up_to_date_is_copied(
    options: SqliteOptions, tmp_path: Path
) -> None:
    async with open_sqlite(options):
        pass
    assert not [name for name in os.listdir(tmp_path) if "schema" in name]


async def test_the_copy_can_be_declined(
    tmp_path: Path, options: SqliteOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, NEXT)
    async with open_sqlite(SqliteOptions(path=options.path, copy_before_upgrade=False)):
        pass
    assert not [name for name in os.listdir(tmp_path) if "schema" in name]


async def test_without_room_for_the_copy_nothing_is_upgraded(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, NEXT)

    def full(_: apsw.Connection, __: Path) -> None:
        raise StorageError("no room")

    monkeypatch.setattr("teamchat.storage.sqlite.opening.keep_copy", full)
    with pytest.raises(StorageError, match="no room"):
        async with open_sqlite(options):
            pass
    assert version(tmp_path / DATABASE_NAME) == NEWEST


async def test_a_rehearsal_changes_nothing_also_beside_a_running_server(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_sqlite(options) as storage:
        know(monkeypatch, NEXT)
        before = sorted(os.listdir(tmp_path))
        found = await rehearse_upgrade(options)
        assert (found.present, found.newest, found.rows) == (NEWEST, NEWEST + 1, 1)
        assert sorted(os.listdir(tmp_path)) == before
        assert await values(storage) == {"kept": "yes"}
    assert version(tmp_path / DATABASE_NAME) == NEWEST


async def test_without_room_a_rehearsal_is_told_how_to_do_without_and_none_is_needed_for_nothing(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with no_room():
        assert (await rehearse_upgrade(options)).present == NEWEST
        know(monkeypatch, NEXT)
        with pytest.raises(StorageError, match="or have teamchat serve upgrade it without a trial"):
            await rehearse_upgrade(options)
        with pytest.raises(StorageError, match=r"or set storage\.copyBeforeUpgrade to false"):
            async with open_sqlite(options):
                pass
    assert version(tmp_path / DATABASE_NAME) == NEWEST


@pytest.mark.parametrize(
    ("wrong", "told"), [(BROKEN, "failed"), (HARMFUL, "rows of server_settings were missing")]
)
async def test_a_rehearsal_finds_what_would_go_wrong(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Migration, told: str
) -> None:
    know(monkeypatch, wrong)
    with pytest.raises(StorageError, match=told):
        await rehearse_upgrade(options)
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []
    assert version(tmp_path / DATABASE_NAME) == NEWEST


async def test_a_rehearsal_tries_the_tables_of_capabilities_too(
    options: SqliteOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def polls(*more: str) -> CapabilityTables:
        statements = ("create table polls (id text primary key){table_end}", *more)
        return CapabilityTables("polls", [Migration(1, statements)], "a plugin")

    know(monkeypatch, NEXT)
    found = await rehearse_upgrade(options, partial(upgrade_in, wanted=[polls()]))
    assert (found.present, found.newest, found.rows) == (NEWEST, NEWEST + 1, 1)
    with pytest.raises(StorageError, match="Migration 1 of the capability polls"):
        await rehearse_upgrade(options, partial(upgrade_in, wanted=[polls("select * from nowhere")]))
    assert version(tmp_path / DATABASE_NAME) == NEWEST
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


async def test_there_is_nothing_to_rehearse_without_a_database(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no database"):
        await rehearse_upgrade(SqliteOptions(path=str(tmp_path / "nowhere")))
    assert os.listdir(tmp_path) == []


async def test_the_schema_that_is_there_is_told_and_none_is_made_for_it(tmp_path: Path) -> None:
    options = SqliteOptions(path=str(tmp_path / "data"))
    assert await present_schema(options) == 0
    assert not (tmp_path / "data").exists()
    async with open_sqlite(options):
        assert await present_schema(options) == NEWEST


async def test_the_upgrade_that_blanks_finds_what_was_logged_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SqliteOptions(path=str(tmp_path), copy_before_upgrade=False)
    before = [migration for migration in MIGRATIONS if migration.number < 8]
    channel, message, direct = new_id(), new_id(), new_conversation_id()
    meta = ThreadMeta(1, 1, UserName("a", "Ada"), ["a"])

    def said(place: str, id_: str) -> Message:
        return Message(id_, place, Author("a", "Ada"), "text", 1, None, {})

    logged = [
        events.NewMessage.about(said(channel, message)).to(),
        events.UpdateThreadReply.about(said(channel, message)).to(),
        events.NewThreadReply(new_id(), channel, said(channel, message), meta, "a").to(),
        events.NewDirectMessage.about(said(direct, message)).to(),
        events.NewReaction(message, "a", "👍").to(),
    ]
    with monkeypatch.context() as earlier:
        for module in (schema, connections, upgrading):
            earlier.setattr(module, "MIGRATIONS", before)
        async with open_sqlite(options) as storage, storage.write() as tx:
            for number, event in enumerate(logged, 1):
                await tx.fetch(
                    "insert into events (type, payload, created_at) values ($1, $2, $3)",
                    *(event.type, event.payload, 10 * number),
                )
            for created_at in (5, 25, 1000):
                await tx.fetch(
                    "insert into users (id, user_name, email, is_admin, created_at)"
                    " values ($1, $1, '', 0, $2)",
                    *(str(created_at), created_at),
                )
    async with open_sqlite(options) as storage:
        async with storage.read() as tx:
            found = await logged_in(tx, 0, 10)
            starts = dict(await tx.fetch("select id, log_start from users"))
        assert [(event.text_room, event.text_message) for event in found] == [
            (event.text_room, event.text_message) for event in logged
        ]
        assert starts == {"5": 0, "25": 2, "1000": 5}, "nobody resumes from before their account was made"


async def test_a_key_that_was_used_before_the_upgrade_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SqliteOptions(path=str(tmp_path))
    before = [migration for migration in MIGRATIONS if migration.number < 21]
    request = asking(KeyedRequest("ada", CHAT, "key"), ["channel 1", "text", []])
    with monkeypatch.context() as earlier:
        for module in (schema, connections, upgrading):
            earlier.setattr(module, "MIGRATIONS", before)
        async with open_sqlite(options) as storage, storage.write() as tx:
            await tx.fetch(
                "insert into idempotency_keys values ('ada', 'key', $1, 'made', $2, '{\"isNew\":false}')",
                *(request.digest, now_ms()),
            )
    async with open_sqlite(options) as storage, storage.read() as tx:
        assert await made_before(tx, request) == ("made", {"isNew": False})


async def test_what_is_deleted_is_overwritten_in_the_file(options: SqliteOptions, tmp_path: Path) -> None:
    async with open_sqlite(options) as storage:
        async with storage.write() as tx:
            for number in range(50):
                await set_value(tx, f"kept {number}", "stays")
                await set_value(tx, f"gone {number}", "what nobody shall read" * 400)
        async with storage.write() as tx:
            await tx.fetch("delete from server_settings where name like 'gone%'")
    written = (tmp_path / DATABASE_NAME).read_bytes()
    assert b"stays" in written
    assert b"what nobody shall read" not in written
