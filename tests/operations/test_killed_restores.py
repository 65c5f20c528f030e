"""Wherever a restore is killed, rows and signing secret are of one installation, or no server starts."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from teamchat.errors import SettingsError, StorageError
from teamchat.operations.backup import back_up
from teamchat.operations.installation import Installation
from teamchat.operations.restore import Wishes, restore
from tests.operations.conftest import ROOT, configure, teamchat
from tests.operations.killed_restore import STEPS
from tests.storages import storage_section

pytestmark = pytest.mark.slow

OLD, NEW = b"o" * 64, b"n" * 64
HALF = {"the rows are committed", "the secret is in place"}
DONE = {"all is done"}


def configured(directory: Path, secret: bytes) -> Installation:
    """Return an installation that has its signing secret, and nothing else yet."""
    (directory / "data").mkdir(parents=True)
    (directory / "data" / "jwt-secret").write_bytes(secret)
    config = configure(directory / "c.json", storage=storage_section(directory / "data"))
    return Installation.load(config, {})


async def made(directory: Path, name: str, secret: bytes) -> Installation:
    """Return an installation with one user and one image."""
    one = configured(directory, secret)
    async with one.storage() as storage, one.images() as images:
        async with storage.write() as tx:
            await tx.fetch(
                "insert into users (id, user_name, email, is_admin, created_at) values ('1', $1, 'a', 1, 1)",
                name,
            )
            await tx.fetch(
                "insert into images (filename, room_id, uploaded_by, created_at, media_type, size)"
                " values ($1, 'x', '1', 1, 'image/png', 3)",
                f"{name}.png",
            )
        await images.put(f"{name}.png", name.encode())
    return one


async def state(one: Installation) -> tuple[str, bytes]:
    """Return whose rows there are, and which secret."""
    async with one.storage() as storage, storage.read() as tx:
        [(name,)] = await tx.fetch("select user_name from users")
    return str(name), (one.directory / "jwt-secret").read_bytes().strip()


@pytest.mark.parametrize("step", STEPS)
async def test_a_restore_that_was_killed_is_not_there_is_whole_or_is_refused_until_it_is_given_again(
    step: str, tmp_path: Path
) -> None:
    one, two = await made(tmp_path / "1", "new", NEW), await made(tmp_path / "2", "old", OLD)
    file, config = tmp_path / "backup.zip", tmp_path / "2" / "c.json"
    await back_up(one, file)
    killed = await trio.run_process(
        [sys.executable, "-m", "tests.operations.killed_restore", str(config), str(file), step],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_stderr=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if step in HALF:
        with pytest.raises(StorageError, match="Give the command teamchat restore again"):
            async with two.existing_storage():
                pass
        said = await trio.to_thread.run_sync(lambda: teamchat("serve", "--config", config, status=1))
        assert "Give the command teamchat restore again" in said
        await restore(two, file)  # It need not be told to replace what is half there.
    else:
        assert await state(two) == (("new", NEW) if step in DONE else ("old", OLD))
        async with two.existing_storage():
            pass
        await trio.to_thread.run_sync(lambda: teamchat("restore", "--replace", "--config", config, file))
    assert await state(two) == ("new", NEW)
    async with two.existing_storage():
        pass
    assert not list(two.directory.glob(".jwt-secret*"))


async def test_a_directory_that_can_not_take_the_secret_is_told_before_anything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await made(tmp_path / "1", "new", NEW), await made(tmp_path / "2", "old", OLD)
    await back_up(one, tmp_path / "backup.zip")

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("teamchat.settings.signing._write", full)
    with pytest.raises(SettingsError, match="the signing secret can't be kept there"):
        await restore(two, tmp_path / "backup.zip", Wishes(replaces=True))
    assert await state(two) == ("old", OLD)
    async with two.images() as images:
        assert await images.get("new.png") is None
