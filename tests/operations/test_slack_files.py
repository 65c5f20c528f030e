"""Files of Slack's: what a tool has fetched beside the export comes in, and of the rest the name stays."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.installation import Installation
from tests.operations.exchanging import fresh, sound
from tests.operations.slack_workspace import write_workspace

PDF, GIF = b"%PDF-1.7\na plan", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
SAID = [
    {"type": "message", "user": "U1", "ts": "1500100000.000000", "text": "",
     "files": [{"id": "F3", "name": "what: a plan?.txt", "mimetype": "text/plain"}]},
    {"type": "message", "user": "U2", "ts": "1500100001.000000", "text": "four",
     "files": [{"id": "F4", "name": "a.gif"}, {"id": "F5", "name": "gone.txt", "mode": "tombstone"},
               {"id": "F6", "name": "Document", "mode": "external", "is_external": True,
                "url_private": "https://docs.example.org/secret"},
               {"id": "F7", "name": "never.txt", "url_private": "https://files.example.org/?t=xoxe-secret"}]},
]  # fmt: skip
FETCHED = {
    "__uploads/F2/plan.pdf": PDF,
    "__uploads/F4/a.gif": GIF,
    # As slackdump writes what may not stand in a name everywhere, in its other way.
    "engineering/attachments/F3-what_ a plan_.txt": b"some words",
}


def workspace(directory: Path) -> Path:
    write_workspace(directory)
    (directory / "engineering" / "2017-07-15.json").write_text(json.dumps(SAID))
    return directory


def fetch(directory: Path) -> None:
    for name, data in FETCHED.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(data)


async def files_in(installation: Installation) -> dict[str, tuple[str, str, bytes]]:
    """Return what messages have: by the name of a file its type, its message's text and its bytes."""
    found = {}
    async with installation.storage() as storage, installation.files() as store:
        await sound(storage)
        async with storage.read() as tx:
            rows = await tx.fetch(
                "select f.name, f.media_type, m.content, f.key from files f"
                " join messages m on m.id = f.message_id"
            )
            assert await tx.fetch("select 1 from messages where content like '%example.org/?t%'") == []
        assert store is not None
        for name, kind, content, key in rows:
            chunks = await store.read(key)
            assert chunks is not None
            found[name] = (kind, content, b"".join([bytes(chunk) async for chunk in chunks]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("is_packed", [False, True])
def test_files_come_in_where_a_tool_has_fetched_them(tmp_path: Path, is_packed: bool) -> None:
    installation, slack = fresh(tmp_path / "one"), workspace(tmp_path / "slack")
    fetch(slack)
    if is_packed:
        with zipfile.ZipFile(tmp_path / "slack.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(slack.rglob("*")):
                packed.write(path, path.relative_to(slack))
        slack = tmp_path / "slack.zip"

    async def imported() -> tuple[list[str], list[str], dict[str, Any]]:
        said = await bring_in(installation, slack, Wishes(report=tmp_path / "report.jsonl"))
        again = await bring_in(installation, slack, Wishes())
        return said, again, await files_in(installation)

    said, again, found = trio.run(imported)
    assert found == {
        "plan.pdf": ("application/pdf", "", PDF),
        "what: a plan?.txt": ("text/plain", "", b"some words"),
        "a.gif": ("image/gif", "four\n[file: gone.txt]\n[file: Document]\n[file: never.txt]", GIF),
    }
    assert ", 3 files, " in said[0]
    assert ", 3 files, " in again[1]
    notes = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    where = "engineering/2017-07-15.json/1500100001.000000"
    assert {note["where"]: note["why"] for note in notes if note["what"] == "file"} == {
        f"{where}/F5": "it was removed in Slack",
        f"{where}/F6": "it is kept elsewhere, and its address is all that Slack has of it",
        f"{where}/F7": "its bytes are not in the export; its name stands in the message",
    }


@pytest.mark.slow
def test_what_is_fetched_later_is_attached_to_messages_that_are_there(tmp_path: Path) -> None:
    installation, slack = fresh(tmp_path / "one"), workspace(tmp_path / "slack")

    async def twice() -> dict[str, Any]:
        await bring_in(installation, slack, Wishes())
        assert await files_in(installation) == {}
        fetch(slack)
        await bring_in(installation, slack, Wishes())
        return await files_in(installation)

    found = trio.run(twice)
    assert found["plan.pdf"] == ("application/pdf", "[file: plan.pdf]", PDF)
    assert sorted(found) == ["a.gif", "plan.pdf", "what: a plan?.txt"]


@pytest.mark.slow
def test_an_image_that_is_of_another_kind_than_its_name_says_comes_in_as_a_file(tmp_path: Path) -> None:
    installation, slack = fresh(tmp_path / "one"), workspace(tmp_path / "slack")
    (slack / "engineering" / "2017-07-16.json").write_text(
        json.dumps(
            [{"type": "message", "user": "U1", "ts": "1500200000.000000", "text": "",
              "files": [{"id": "F8", "name": "photo.jpg"}, {"id": "F9", "name": "page.png"}]}]
        )
    )  # fmt: skip
    for name, data in {"F8/photo.jpg": GIF, "F9/page.png": b"<p>Sign in, please.</p>"}.items():
        (slack / "__uploads" / name).parent.mkdir(parents=True)
        (slack / "__uploads" / name).write_bytes(data)

    async def imported() -> tuple[list[str], dict[str, Any]]:
        return await bring_in(installation, slack, Wishes()), await files_in(installation)

    said, found = trio.run(imported)
    assert "image" not in "".join(one for one in said if one.startswith("Left out"))
    assert found["photo.jpg"] == ("image/gif", "", GIF)
    assert found["page.png"][2] == b"<p>Sign in, please.</p>"


@pytest.mark.slow
def test_where_files_are_off_their_names_stand_in_messages(tmp_path: Path) -> None:
    slack = workspace(tmp_path / "slack")
    fetch(slack)
    on = fresh(tmp_path / "one")
    assert on.file is not None
    settings = json.loads(on.file.read_text()) | {"files": {"enabled": False}}
    on.file.write_text(json.dumps(settings))
    installation = Installation.load(on.file, {})
    said = trio.run(bring_in, installation, slack, Wishes())
    assert "Left out: 3 × file (files are off here; its name stands in the message)" in said


@pytest.mark.slow
def test_an_archive_whose_file_is_damaged_leaves_its_entry_and_the_rest_comes_in(tmp_path: Path) -> None:
    installation, slack = fresh(tmp_path / "one"), workspace(tmp_path / "slack")
    fetch(slack)
    with zipfile.ZipFile(tmp_path / "slack.zip", "w") as packed:
        for path in sorted(slack.rglob("*")):
            packed.write(path, path.relative_to(slack))
    data = (tmp_path / "slack.zip").read_bytes()
    (tmp_path / "slack.zip").write_bytes(data.replace(PDF, PDF[:-1] + b"x"))

    async def imported() -> list[Any]:
        said = await bring_in(installation, tmp_path / "slack.zip", Wishes())
        assert any("its bytes are damaged" in line for line in said), said
        async with installation.storage() as storage, storage.read() as tx:
            return list(await tx.fetch("select name, state from files order by name"))

    found = trio.run(imported)
    assert found == [("a.gif", "checking"), ("plan.pdf", "expired"), ("what: a plan?.txt", "checking")]
