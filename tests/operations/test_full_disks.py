"""Where a disk is full, that is what is said, and nothing that is half made stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
import trio

from teamchat.cli import scaffold
from teamchat.errors import OperatorError, SettingsError, StorageError
from teamchat.operations import room
from teamchat.operations.backup import back_up
from teamchat.operations.installation import Installation
from teamchat.operations.restore import restore
from teamchat.settings.signing import jwt_secret, keep_secret
from teamchat.storage.sqlite import connections, opening
from tests.operations.conftest import configure
from tests.operations.test_endings import ended

pytestmark = pytest.mark.slow

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
SMALL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"


def installation(directory: Path) -> Installation:
    directory.mkdir()
    return Installation.load(configure(directory / "c.json", storage={"path": str(directory / "data")}), {})


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of an installation with one user."""
    one = installation(tmp_path / "one")

    async def fill() -> None:
        async with one.storage() as storage, storage.write() as tx:
            await tx.fetch(
                "insert into users (id, user_name, email, is_admin, created_at)"
                " values ('1', 'Ada', 'ada@example.org', 1, 1)"
            )
        await back_up(one, tmp_path / "backup.zip")

    trio.run(fill)
    return tmp_path / "backup.zip"


def test_a_restore_looks_for_room_before_it_makes_anything(
    tmp_path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage(NamedTuple):
        free: int = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage())
    other = installation(tmp_path / "other")
    with pytest.raises(OperatorError, match="Make room first"):
        trio.run(restore, other, backup)
    assert not other.has_directory


@pytest.mark.parametrize("pages", [2, 8, 32])
def test_a_database_that_finds_no_room_is_made_anew_once_there_is_some(
    pages: int, tmp_path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(path: Path, busy_milliseconds: int) -> apsw.Connection:
        connection = connections.connect(path, busy_milliseconds)
        connection.pragma("max_page_count", pages)
        return connection

    other = installation(tmp_path / "other")
    with monkeypatch.context() as patch:
        patch.setattr(opening, "connect", connect)
        for _ in range(2):
            with pytest.raises(StorageError, match=r"^storage\.path: the disk is full\. Make room\.$"):
                trio.run(restore, other, backup)
    assert trio.run(restore, other, backup)[0] == f"{backup} is restored."


def test_a_secret_that_finds_no_room_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = installation(tmp_path / "one")

    def full(_: int) -> None:
        raise FULL

    monkeypatch.setattr(os, "fsync", full)
    told = r"can't be kept there \(No space left on device\)\. Make room"
    with pytest.raises(SettingsError, match=rf"{told}, or configure auth\.jwtSecret\.$"):
        jwt_secret(one.settings)
    with pytest.raises(SettingsError, match=rf"{told}\.$"):
        keep_secret(one.settings, b"0123456789abcdef" * 4)
    assert os.listdir(one.directory) == []


def test_no_half_of_a_configuration_is_left(tmp_path: Path) -> None:
    done = ended(SMALL, "init", tmp_path / "c.toml")
    assert done.returncode == 1
    assert done.stderr == f"teamchat: {tmp_path}/c.toml can't be written ({os.strerror(errno.EFBIG)}).\n"
    assert os.listdir(tmp_path) == []


def test_no_half_of_a_plugin_is_left(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:

        def full(*_: object) -> None:
            raise FULL

        patch.setattr(scaffold, "_write", full)
        with pytest.raises(SettingsError, match="teamchat-lunch can't be made: No space left on device"):
            scaffold.make("routes", "lunch", tmp_path)
    assert os.listdir(tmp_path) == []
    scaffold.make("routes", "lunch", tmp_path)


def test_bytes_are_told_in_units_that_show_them() -> None:
    told = [room.in_units(length) for length in (0, 40_000, 300 * 1024**2, 3 * 1024**4)]
    assert told == ["0.0 KiB", "39.1 KiB", "300.0 MiB", "3,072.0 GiB"]
