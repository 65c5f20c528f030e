"""Files in an export and an import: their bytes, what is missing, and what an import may not do."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from teamchat.errors import StorageError
from teamchat.model import now_ms
from teamchat.testing import exports

_world = import_module("plugins.teamchat-files.tests.world")
opened = _world.opened
DATA = b"%PDF-1.7\n" + bytes(range(256)) * 1000
RECORDS = "capabilities/files.jsonl"


async def exported(directory: Path, **changed: Any) -> tuple[Path, str, str]:
    """Export an installation with a file in a message; return where, and the ids of both."""
    async with opened(directory / "one") as world:
        id_ = await world.ready(DATA, name="a plan.pdf")
        message = await world.posted(id_)
        await world.ready(b"in no message")
        out = directory / "out"
        await exports.export(world.app, out)
    records = [json.loads(line) | changed for line in (out / RECORDS).read_text().splitlines()]
    (out / RECORDS).write_text("".join(f"{json.dumps(one)}\n" for one in records))
    return out, id_, message


async def shown(world: Any, message: str) -> dict[str, Any]:
    page = await world.ada.ok("GET", f"/channels/{world.channel}/messages")
    [[file]] = [one["files"] for one in page["messages"] if one["id"] == message]
    return dict(file)


async def test_a_file_comes_back_with_its_bytes_and_is_looked_at_first(tmp_path: Path) -> None:
    out, id_, message = await exported(tmp_path)
    assert {path.name: path.read_bytes() for path in (out / "files").iterdir()} == {id_: DATA}
    async with opened(tmp_path / "two") as world:
        said = await exports.bring_in(world.app, out)
        assert said[0].endswith(", 1 files.")
        assert (await shown(world, message))["state"] == "checking"
        assert await world.status(id_) == 404
        await world.look_at(id_)
        file = await shown(world, message)
        told = (file["id"], file["name"], file["mediaType"], file["size"], file["state"])
        assert told == (id_, "a plan.pdf", "application/pdf", len(DATA), "ready")
        assert (await world.bob.call("GET", f"/files/{id_}")).body == DATA
        assert len(await world.keys()) == 1
        again = await exports.bring_in(world.app, out)
        assert again[1].endswith(", 1 files.")
        assert len(await world.keys()) == 1


async def test_g3_a_file_that_was_edited_out_since_does_not_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path / "one") as world:
        message = await world.posted(await world.ready(DATA))
        await exports.export(world.app, tmp_path / "out")
        await world.ada.ok("PUT", f"/messages/{message}", {"content": "text", "files": []})
        said = await exports.bring_in(world.app, tmp_path / "out")
        assert "Left out: 1 × record of files (its message was edited since)" in said
        assert await world.shown(message) == []
        assert await world.keys() == set()


@pytest.mark.parametrize(
    ("changed", "state", "note"),
    [
        ({}, "expired", "its bytes are not in the export"),
        ({"state": "expired"}, "expired", ""),
        ({"state": "blocked"}, "blocked", ""),
    ],
)
async def test_of_a_file_without_bytes_the_message_shows_that_there_was_one(
    tmp_path: Path, changed: dict[str, Any], state: str, note: str
) -> None:
    out, id_, message = await exported(tmp_path, **changed)
    (out / "files" / id_).unlink()
    async with opened(tmp_path / "two") as world:
        said = await exports.bring_in(world.app, out)
        assert (note in "".join(said)) if note else ("record of files" not in "".join(said))
        file = await shown(world, message)
        assert (file["name"], file["state"], file["size"]) == ("a plan.pdf", state, len(DATA))
        assert await world.keys() == set()


@pytest.mark.parametrize(
    ("changed", "name", "kind"),
    [
        ({"name": "a\0b"}, None, ""),
        ({"name": "a\nb" + "x" * 300 + ".pdf"}, "x" * 251 + ".pdf", "application/pdf"),
        ({"name": "..", "mediaType": "text/html"}, "file", "application/pdf"),
        ({"id": "../../etc/passwd"}, "a plan.pdf", "application/pdf"),
        ({"state": "expired", "mediaType": "no type"}, "a plan.pdf", "application/octet-stream"),
    ],
)
async def test_a_record_of_somebody_elses_does_no_harm(
    tmp_path: Path, changed: dict[str, Any], name: str | None, kind: str
) -> None:
    out, id_, message = await exported(tmp_path, **changed)
    async with opened(tmp_path / "two") as world:
        await exports.bring_in(world.app, out)
        rows = await world.rows("select name, media_type, id from files where message_id = $1", message)
        if name is None:
            assert rows == []
        else:
            expected = kind if changed.get("id") is None else "application/pdf"
            [(found, found_kind, found_id)] = rows
            # What leads out of the export is not read: its bytes are missing, and what was told stays.
            assert (found, found_kind) == (name, expected)
            assert (found_id == id_) == ("id" not in changed)


async def test_what_a_disk_keeps_for_the_database_ends_an_import_that_goes_on_later(tmp_path: Path) -> None:
    out, id_, message = await exported(tmp_path)
    async with opened(tmp_path / "two") as world:
        world.store.room = 2**30 + len(DATA) - 1
        with pytest.raises(StorageError, match=r"files\.reserveBytes"):
            await exports.bring_in(world.app, out)
        assert await world.keys() == set()
        world.store.room = 2**40
        await exports.bring_in(world.app, out)
        assert (await shown(world, message))["id"] == id_


async def test_bytes_of_an_import_that_broke_off_do_not_stay(tmp_path: Path) -> None:
    out, id_, message = await exported(tmp_path)
    async with opened(tmp_path / "two") as world:
        world.store.failing = True
        with pytest.raises(StorageError, match="does not work"):
            await exports.bring_in(world.app, out)
        world.store.failing = False
        await world.rows("update files_doomed set due = $1", now_ms())
        assert await world.keys() == set()
        await exports.bring_in(world.app, out)
        assert (await shown(world, message))["id"] == id_
        assert len(await world.keys()) == 1


async def test_a_message_has_ten_at_most_and_the_others_are_named(tmp_path: Path) -> None:
    out, _, message = await exported(tmp_path)
    [record] = (out / RECORDS).read_text().splitlines()
    more = [json.loads(record) | {"id": f"{number:032x}", "number": number} for number in range(1, 12)]
    (out / RECORDS).write_text("\n".join([record, *map(json.dumps, more)]) + "\n")
    async with opened(tmp_path / "two") as world:
        said = await exports.bring_in(world.app, out)
        assert "Left out: 2 × record of files (a message has 10 images and files at most)" in said
        assert len(await world.rows("select id from files where message_id = $1", message)) == 10
