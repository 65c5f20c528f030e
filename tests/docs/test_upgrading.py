"""The page on upgrades: a later version beside the one that runs, its dry run, its start, the way back."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from teamchat.storage.schema import MIGRATIONS
from tests.docs.machine import Machine, said_in, say
from tests.docs.pages import DOCS, blocks

PAGE = "how-to/upgrade.md"
[DRY_RUN] = blocks(PAGE, "sh")
NOW = MIGRATIONS[-1].number
LATER = f"""#!{sys.executable}
from teamchat.storage import schema
from teamchat.storage.schema import Migration
schema.MIGRATIONS += (Migration({NOW + 1}, ("create table novelties (id text primary key){{table_end}}",)),)
from teamchat.cli import main
raise SystemExit(main())
"""


def a_later_version(machine: Machine, place: str) -> Path:
    """Put a program there that is this version with one migration more."""
    program = machine.write(f"{place}/teamchat", LATER)
    program.chmod(0o755)
    return program


def state(directory: Path) -> dict[str, bytes]:
    """Return what lies in a directory."""
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.is_file()}


def test_a_version_is_rehearsed_beside_the_server_taken_and_taken_back(machine: Machine) -> None:
    data = machine.root / "data"
    machine.write("teamchat.toml", f'[storage]\npath = "{data}"\n')
    machine.write("etc/teamchat/teamchat.toml", f'[storage]\npath = "{data}"\n')
    a_later_version(machine, "opt/teamchat-new/bin")
    tried = (
        rf"The database has schema {NOW}; this version uses {NOW + 1}\. The upgrade was tried with all \d+ "
        r"rows and works\. Nothing was changed\.\n"
    )
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        say(ada, "before")
        assert "There is nothing to do." in machine.types(DRY_RUN)
        [beside] = re.findall(r"`(/opt/teamchat-new/bin/teamchat .*?)`", (DOCS / PAGE).read_text())
        assert re.search(tried, machine.types(beside))
        refused = machine.types("/opt/teamchat-new/bin/teamchat backup early.zip", status=1)
        assert f"The database has schema {NOW}, and this version of teamchat uses {NOW + 1}." in refused
        say(ada, "the server goes on")
        assert server.end() == 0
    before = state(data)
    later = a_later_version(machine, "bin")  # The new version is what `teamchat` is from here on.
    said = machine.types(DRY_RUN)
    assert re.match(r"teamchat \d+\.\d+\.\d+\n", said)
    assert re.search(tried, said)
    assert state(data) == before

    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        say(ada, "after")
        assert server.end() == 0
    kept = data / f"teamchat.db.schema-{NOW}"
    assert kept.is_file()
    later.unlink()
    refused = machine.types("teamchat serve", status=1)
    assert f"has schema {NOW + 1}" in refused
    kept.replace(data / "teamchat.db")
    for name in ("teamchat.db-wal", "teamchat.db-shm"):
        (data / name).unlink(missing_ok=True)
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        assert [message["content"] for message in said_in(ada)] == ["before", "the server goes on"]
        assert server.end() == 0


def test_teamchat_upgrade_does_what_the_start_does(machine: Machine) -> None:
    with machine.serves("teamchat serve") as server:
        assert server.end() == 0
    a_later_version(machine, "bin")
    said = machine.types("teamchat upgrade", TEAMCHAT_STORAGE__COPYBEFOREUPGRADE="false")
    assert f"was upgraded from schema {NOW} to {NOW + 1}." in said
    assert not [*(machine.root / "teamchat-data").glob("*.schema-*")]


def test_a_dry_run_finds_tables_that_a_plugin_would_refuse_and_an_upgrade_changes_nothing_before(
    machine: Machine,
) -> None:
    machine.write("teamchat.toml", "")
    with machine.serves("teamchat serve") as server:
        assert server.end() == 0
    data = machine.root / "teamchat-data"
    with closing(sqlite3.connect(data / "teamchat.db")) as database, database:
        database.execute("insert into capability_migrations values ('pins', 99, '[]')")
    before = state(data)
    a_later_version(machine, "bin")
    for command in (DRY_RUN, "teamchat upgrade"):
        assert "The tables of the capability pins have schema 99" in machine.types(command, status=1)
        assert state(data) == before
