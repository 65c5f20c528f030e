"""Backing up, restoring, moving and checking an installation with files, whose bytes are in a directory."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from teamchat.errors import OperatorError
from teamchat.operations.archived import opened
from teamchat.operations.backup import back_up
from teamchat.operations.checking.findings import Level
from teamchat.operations.checking.services import check_files
from teamchat.operations.import_export.bringing_in import Wishes as ImportWishes
from teamchat.operations.import_export.bringing_in import bring_in
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from teamchat.operations.moving import move_installation
from teamchat.operations.restore import Wishes, restore
from teamchat.testing import DEADLINE, listening, running

_tus = import_module("plugins.teamchat-files.tests.uploading")
begin, first_channel, patch, post, upload, TUS = (
    _tus.begin, _tus.first_channel, _tus.patch, _tus.post, _tus.upload, _tus.TUS
)  # fmt: skip
DATA = os.urandom(200_000)


async def with_a_file(directory: Path) -> str:
    """Run a server until a file stands in a message, and return its id."""
    async with running(directory) as server, await server.sign_in() as ada:
        channel = await first_channel(ada)
        id_: str = await upload(ada, channel, DATA, "kept.bin")
        await post(ada, channel, [id_])
        return id_


async def has_the_file(directory: Path, id_: str) -> bool:
    async with running(directory) as server, await server.sign_in() as ada:
        return bool((await ada.get(f"/files/{id_}")).content == DATA)


def installation(directory: Path, like: Path | None = None) -> Installation:
    """Return an installation in a directory, made like another one."""
    config = directory / "teamchat.json"
    if like is not None:
        directory.mkdir()
        settings: dict[str, Any] = json.loads((like / "teamchat.json").read_text())
        settings["storage"] = {"path": str(directory / "data")}
        config.write_text(json.dumps(settings))
    return Installation.load(config, {})


@pytest.mark.slow
async def test_a_backup_has_the_bytes_and_gives_them_back(tmp_path: Path) -> None:
    id_ = await with_a_file(tmp_path / "one")
    file = tmp_path / "backup.zip"
    await back_up(installation(tmp_path / "one"), file)
    two = installation(tmp_path / "two", tmp_path / "one")
    await restore(two, file)
    async with two.storage() as storage:
        findings = await check_files(two, storage)
    assert [one.level for one in findings] == [Level.OK, Level.OK], findings
    assert "has 1 files that were looked for" in str(findings[1])
    assert await has_the_file(tmp_path / "two", id_)


@pytest.mark.slow
async def test_what_is_replaced_leaves_no_bytes_of_before(tmp_path: Path) -> None:
    id_ = await with_a_file(tmp_path / "one")
    file = tmp_path / "backup.zip"
    one = installation(tmp_path / "one")
    await back_up(one, file)
    async with running(tmp_path / "one") as server, await server.sign_in() as ada:
        await post(ada, channel := await first_channel(ada), [await upload(ada, channel, DATA, "later.bin")])
    stored = tmp_path / "one" / "data" / "files"
    before = {path.name for path in stored.iterdir()}
    await restore(one, file, Wishes(replaces=True))
    assert len(before - {path.name for path in stored.iterdir()}) == 1
    assert await has_the_file(tmp_path / "one", id_)


def turned_off(directory: Path, **sections: dict[str, Any]) -> Installation:
    config = directory / "teamchat.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | sections))
    return installation(directory)


async def test_an_export_asks_for_no_store_of_files_that_are_turned_off(tmp_path: Path) -> None:
    (tmp_path / "teamchat.json").write_text("{}")
    one = turned_off(tmp_path, files={"enabled": False, "backend": "nowhere"})
    async with one.files(in_use=True) as store:
        assert store is None
    with pytest.raises(OperatorError, match="names no file store"):
        async with one.files():
            raise AssertionError("a backup would be without them")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["moved", "restored"])
async def test_files_go_along_also_while_they_are_turned_off(tmp_path: Path, way: str) -> None:
    id_ = await with_a_file(tmp_path / "one")
    two = installation(tmp_path / "two", tmp_path / "one")
    one = turned_off(tmp_path / "one", files={"enabled": False})
    if way == "moved":
        await move_installation(one, two, lambda *_: None)
    else:
        await back_up(one, tmp_path / "backup.zip")
        await restore(two, tmp_path / "backup.zip")
    assert await has_the_file(tmp_path / "two", id_)


async def test_a_backup_tells_of_files_that_it_can_not_know_of(tmp_path: Path) -> None:
    await with_a_file(tmp_path / "one")
    one = turned_off(tmp_path / "one", plugins={"disabled": ["files"]})
    said = await back_up(one, tmp_path / "backup.zip")
    assert any(sentence.startswith("No active plugin offers files") for sentence in said), said
    said = await move_installation(one, installation(tmp_path / "two", tmp_path / "one"), lambda *_: None)
    assert any(sentence.startswith("No active plugin offers files") for sentence in said), said


async def test_a_backup_whose_file_is_not_what_was_written_changes_nothing(tmp_path: Path) -> None:
    await with_a_file(tmp_path / "one")
    file = tmp_path / "backup.zip"
    await back_up(installation(tmp_path / "one"), file)
    data = file.read_bytes()
    at = data.index(DATA[:64]) + 1000
    file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    two = installation(tmp_path / "two", tmp_path / "one")
    with pytest.raises(OperatorError, match="can't be restored"):
        await restore(two, file)
    assert not (tmp_path / "two" / "data" / "files").exists()


async def test_a_restore_looks_for_the_room_that_files_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_a_file(tmp_path / "one")
    file = tmp_path / "backup.zip"
    await back_up(installation(tmp_path / "one"), file)
    with opened(file) as archive:
        room = archive.bytes_of("tables") + len(DATA) // 2

    class Usage(NamedTuple):
        free: int = room

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage())
    with pytest.raises(OperatorError, match="Make room first"):
        await restore(installation(tmp_path / "two", tmp_path / "one"), file)
    assert not (tmp_path / "two" / "data").exists()


@pytest.mark.slow
async def test_a_move_takes_the_bytes_along_and_a_check_misses_them_where_they_are_gone(
    tmp_path: Path,
) -> None:
    id_ = await with_a_file(tmp_path / "one")
    one, two = installation(tmp_path / "one"), installation(tmp_path / "two", tmp_path / "one")
    said = await move_installation(one, two, lambda *_: None)
    assert "The files were copied." in said
    assert await has_the_file(tmp_path / "two", id_)
    for path in (tmp_path / "one" / "data" / "files").iterdir():
        path.unlink()
    async with one.existing_storage() as storage:
        findings = await check_files(one, storage)
    assert [one.level for one in findings] == [Level.OK, Level.PROBLEM], findings


async def test_a_check_finds_a_file_that_is_not_there_to_its_end(tmp_path: Path) -> None:
    await with_a_file(tmp_path)
    one = installation(tmp_path)
    for length, level in ((len(DATA), Level.OK), (len(DATA) - 1, Level.PROBLEM), (0, Level.PROBLEM)):
        for path in (tmp_path / "data" / "files").iterdir():
            if path.stat().st_size > 1000:
                os.truncate(path, length)
        async with one.existing_storage() as storage:
            findings = await check_files(one, storage)
        assert [one.level for one in findings] == [Level.OK, level], findings


@pytest.mark.slow
async def test_an_export_has_the_bytes_and_a_server_that_runs_takes_them_in(tmp_path: Path) -> None:
    id_ = await with_a_file(tmp_path / "one")
    said, *_ = await export_to(installation(tmp_path / "one"), tmp_path / "out")
    assert ", 1 files" in said
    async with running(tmp_path / "two") as server, await server.sign_in() as ada, listening(ada) as stream:
        said, *_ = await bring_in(installation(tmp_path / "two"), tmp_path / "out", ImportWishes())
        assert ", 1 files" in said
        # It is looked at as an upload is, and then everybody has it.
        with trio.fail_after(DEADLINE):
            while (await stream.next())["type"] != "FILE_CHANGED":
                pass
        async with await server.sign_in("bob@example.org") as bob:
            assert (await bob.get(f"/files/{id_}")).content == DATA


async def test_an_export_tells_how_many_files_have_lost_their_bytes(tmp_path: Path) -> None:
    await with_a_file(tmp_path / "one")
    for path in (tmp_path / "one" / "data" / "files").iterdir():
        path.unlink()
    said = await export_to(installation(tmp_path / "one"), tmp_path / "out")
    assert "1 files have no bytes in their store, and so not in the export either." in said


@pytest.mark.slow
@pytest.mark.parametrize("way", ["moved", "restored"])
async def test_an_upload_that_is_not_complete_ends_where_its_bytes_do_not_go_along(
    tmp_path: Path, way: str
) -> None:
    async with running(tmp_path / "one") as server, await server.sign_in() as ada:
        channel = await first_channel(ada)
        upload_id = (await begin(ada, channel, len(DATA))).headers["Location"].rpartition("/")[2]
        assert (await patch(ada, upload_id, 0, DATA[:100_000])).status_code == 204
        token = ada.headers["Authorization"]
    one, two = installation(tmp_path / "one"), installation(tmp_path / "two", tmp_path / "one")
    if way == "moved":
        await move_installation(one, two, lambda *_: None)
    else:
        await back_up(one, tmp_path / "backup.zip")
        await restore(two, tmp_path / "backup.zip")
    async with running(tmp_path / "two") as server, server.client() as ada:
        ada.headers["Authorization"] = token
        # It says so at the first try, and not that another request is in the way: whoever sends begins anew.
        for _ in range(2):
            assert (await patch(ada, upload_id, 100_000, DATA[100_000:])).status_code == 410
        assert (await ada.head(f"/uploads/{upload_id}", headers=TUS)).status_code == 410
        id_ = await upload(ada, channel, DATA)
        assert (await ada.get(f"/files/{id_}")).content == DATA
