"""Tables of capabilities are made, upgraded, kept, copied and emptied by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from teamchat import Capability, StorageError
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.errors import PluginError
from teamchat.operations.backup import back_up
from teamchat.operations.checking.database import check_database
from teamchat.operations.checking.findings import Finding
from teamchat.operations.installation import Installation
from teamchat.operations.restore import Wishes, restore
from teamchat.settings import PluginsSettings
from teamchat.storage import capability_tables
from teamchat.storage.moving import Outcome, move
from teamchat.storage.schema import Migration
from tests.capabilities.serving import plugins_with, served
from tests.operations.conftest import configure
from tests.storages import open_storage, storage_section

FIRST = Migration(
    1,
    (
        """create table polls (id text primary key, question text not null,
           message_id text not null references messages(id) on delete cascade){table_end}""",
        "create index polls_by_message on polls(message_id)",
    ),
)
SECOND = Migration(
    2,
    (
        "alter table polls add column votes {int} not null default 0",
        "update polls set votes = length(question)",
        """create table polls_votes (poll_id text not null references polls(id) on delete cascade,
           user_id text not null references users(id) on delete cascade,
           primary key (poll_id, user_id)){table_end}""",
    ),
)
OLD = Capability(name="polls", tables=(FIRST,))
NEW = Capability(name="polls", tables=(FIRST, SECOND))
WITH_MORE = Migration(1, (*FIRST.statements, "create table polls_more (id text primary key){table_end}"))
CHANGED = Capability(name="polls", tables=(WITH_MORE, SECOND))


async def post(app: Application, text: str = "Lunch?") -> str:
    """Post a message as the first user, and return its id."""
    _, signed_in = await app.accounts.sign_in("admin@localhost", "192.0.2.1", "tests")
    caller = await app.accounts.authenticate(signed_in.access_token)
    [channel] = await app.chat.channels.list(caller)
    return (await app.chat.messages.post(caller, channel.id, Draft(text))).id


async def ask(app: Any, message_id: str, number: str = "1") -> None:
    async with app.storage.write() as tx:
        await tx.fetch(
            "insert into polls (id, question, message_id) values ($1, $2, $3)", number, "Where?", message_id
        )


async def rows(storage: Any, sql: str = "select * from polls order by id") -> Sequence[tuple[Any, ...]]:
    async with storage.read() as tx:
        return [tuple(row) for row in await tx.fetch(sql)]


async def test_tables_are_made_at_the_start_and_upgraded_with_their_rows(tmp_path: Path) -> None:
    async with served(tmp_path, OLD) as here:
        message = await post(here.app)
        await ask(here.app, message)
    async with served(tmp_path, NEW) as here:
        assert await rows(here.app.storage) == [("1", "Where?", message, 6)]
        assert await rows(here.app.storage, "select count(*) from polls_votes") == [(0,)]
    async with served(tmp_path, NEW) as here:
        assert await rows(here.app.storage) == [("1", "Where?", message, 6)]


async def test_what_hangs_on_a_message_goes_with_it_also_while_the_plugin_is_away(tmp_path: Path) -> None:
    async with served(tmp_path, OLD) as here:
        messages = [await post(here.app), await post(here.app)]
        for number, message in enumerate(messages):
            await ask(here.app, message, str(number))
    async with served(tmp_path) as here:
        _, signed_in = await here.app.accounts.sign_in("admin@localhost", "192.0.2.1", "tests")
        caller = await here.app.accounts.authenticate(signed_in.access_token)
        await here.app.chat.messages.delete(caller, messages[0])
        assert [row[0] for row in await rows(here.app.storage)] == ["1"]


async def test_a_plugin_that_is_older_than_its_tables_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, NEW):
        pass
    with pytest.raises(
        StorageError, match=r"polls have schema 2, and the plugin \"acme\" .* knows 1 at most"
    ):
        async with served(tmp_path, OLD):
            pass


async def test_a_migration_that_was_changed_after_it_was_run_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, NEW):
        pass
    table, index = FIRST.statements
    same = Migration(1, (" ".join(table.split()), index))
    for first in (same, FIRST):
        async with served(tmp_path, Capability(name="polls", tables=(first, SECOND))):
            pass
    with pytest.raises(StorageError, match=r"Migration 1 of the capability polls, .* the next number"):
        async with served(tmp_path, CHANGED):
            pass


async def test_the_check_says_which_tables_nobody_offers_and_which_are_too_new(tmp_path: Path) -> None:
    def told(found: Sequence[Finding]) -> list[str]:
        return [finding.sentence for finding in found if finding.subject == "capabilities"]

    async with served(tmp_path, NEW) as here:
        found: list[Finding] = []
        for wanted in (NEW, OLD, CHANGED, None):
            offers = () if wanted is None else (wanted,)
            capabilities = plugins_with(*offers).capabilities(PluginsSettings())
            await check_database(here.app.storage, "", found.append, capabilities.tables)
    newer, changed, nobodys = told(found)
    assert "have schema 2" in newer
    assert "Migration 1 of the capability polls" in changed
    assert nobodys == "the tables of polls are kept, though no active plugin offers it"


async def test_a_migration_that_fails_leaves_nothing_and_names_the_plugin(tmp_path: Path) -> None:
    wrong = Migration(
        1, ("create table polls (id text primary key){table_end}", "select * from polls_nowhere")
    )
    ours = capability_tables.CapabilityTables("polls", [wrong], 'the plugin "acme"')
    async with open_storage(tmp_path) as storage:
        with pytest.raises(
            StorageError, match='Migration 1 of the capability polls, which the plugin "acme"'
        ):
            await capability_tables.upgrade(storage, [ours])
        async with storage.read() as tx:
            assert await capability_tables.stored_in(tx) == {}
        await capability_tables.upgrade(storage, plugins_with(OLD).capabilities(PluginsSettings()).tables)


async def test_an_upgrade_can_be_tried_and_leaves_nothing(tmp_path: Path) -> None:
    wanted = plugins_with(NEW).capabilities(PluginsSettings()).tables
    async with open_storage(tmp_path) as storage:
        assert await capability_tables.rehearse(storage, wanted) == 2
        async with storage.read() as tx:
            assert await capability_tables.stored_in(tx) == {}
        await capability_tables.upgrade(storage, wanted)
        assert await capability_tables.rehearse(storage, wanted) == 0


def installation(directory: Path) -> Installation:
    (directory / "data").mkdir(parents=True, exist_ok=True)
    return Installation.load(
        configure(directory / "config.json", storage=storage_section(directory / "data")), {}
    )


@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True], ids=["into an empty place", "over other tables"])
async def test_a_backup_holds_them_and_a_restore_brings_them_back_without_the_plugin(
    tmp_path: Path, replaces: bool
) -> None:
    async with served(tmp_path / "1", NEW) as here:
        await ask(here.app, await post(here.app))
        wanted = await rows(here.app.storage)
    await back_up(installation(tmp_path / "1"), tmp_path / "backup.zip")
    if replaces:
        async with served(tmp_path / "2", OLD, Capability(name="games", tables=(games(),))) as here:
            await ask(here.app, await post(here.app), "another")
    two = installation(tmp_path / "2")
    await restore(two, tmp_path / "backup.zip", Wishes(replaces=replaces))
    async with served(tmp_path / "2", NEW, Capability(name="games", tables=(games(),))) as here:
        assert await rows(here.app.storage) == wanted
        assert await rows(here.app.storage, "select count(*) from games") == [(0,)]


def games() -> Migration:
    return Migration(1, ("create table games (id text primary key){table_end}",))


async def test_a_move_takes_them_along(tmp_path: Path) -> None:
    async with served(tmp_path / "1", NEW) as here:
        await ask(here.app, await post(here.app))
        wanted = await rows(here.app.storage)
    (tmp_path / "2" / "data").mkdir(parents=True)
    async with (
        open_storage(tmp_path / "1" / "data") as source,
        open_storage(tmp_path / "2" / "data") as target,
    ):
        assert await move(source, target) is Outcome.MOVED
        assert await rows(target) == wanted
        assert await move(source, target) is Outcome.WAS_THERE


TABLE = "create table polls (id text primary key){table_end}"


@pytest.mark.parametrize(
    ("migrations", "words"),
    [
        ([Migration(2, (TABLE,))], "must be numbered 1, 2, 3"),
        (
            [Migration(1, ("create table pools (id text primary key)",))],
            '"pools" must be called polls, or begin',
        ),
        ([Migration(1, (TABLE, "create index by_id on polls(id)"))], '"by_id" must be called polls'),
        ([Migration(1, ("create table polls (id text)",))], "the table polls has no primary key"),
        ([Migration(1, ("alter table messages add column x text",))], "changes a table of teamchat's own"),
        ([Migration(1, ("create tabel polls",))], "migration 1 of polls has a statement that can't be run"),
        ([Migration(1, ("create table polls (id {number})",))], "has a statement that can't be run"),
        (
            [Migration(1, (f"-- what is asked\n{TABLE}",))],
            "migration 1 of polls defines something by a statement",
        ),
        ([Migration(1, (f"{TABLE}; create index polls_2 on polls(id)",))], "is not one alone"),
        ([Migration(1, (TABLE, "create view polls_all as select * from polls"))], "a table or an index"),
        (
            [Migration(1, ("create table polls (id text primary key references messages(id))",))],
            "polls refers to messages",
        ),
        (
            [
                Migration(
                    1, ("create table polls (id text primary key references sessions(id) on delete cascade)",)
                )
            ],
            "polls refers to sessions",
        ),
    ],
)
def test_migrations_that_cannot_be_run_are_told_before_anything_opens(
    migrations: list[Migration], words: str
) -> None:
    with pytest.raises(PluginError, match=words):
        plugins_with(Capability(name="polls", tables=migrations)).capabilities(PluginsSettings())


def test_a_backup_that_defines_more_than_tables_is_refused() -> None:
    for statement in ("delete from users", "create table polls (id text primary key); drop table users"):
        with pytest.raises(Exception, match="what defines no table"):
            capability_tables.defined({"polls": {1: [statement]}})
