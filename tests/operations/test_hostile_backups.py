"""A backup that somebody made to do harm takes bounded memory, is told in one line, and changes nothing."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamchat.errors import OperatorError
from teamchat.operations import room, zipfiles
from teamchat.operations.archived import Damaged, opened
from teamchat.operations.backup import back_up
from teamchat.operations.installation import Installation
from teamchat.operations.restore import Wishes, restore
from tests.operations.conftest import ROOT, configure
from tests.storage.filling import sums

pytestmark = pytest.mark.slow

IMAGE = "1-a.png"
MIB = 1024**2
BOMB = 300 * MIB
ENOUGH_KIB = 200 * 1024
"""What restoring takes as a whole, the interpreter included."""


class Backup(NamedTuple):
    """A backup's file, its members, and an installation with data of its own to restore it into."""

    file: Path
    members: dict[str, bytes]
    target: Installation

    def forge(self, changed: Mapping[str, bytes], **manifest: Any) -> None:
        """Write the file anew with other members, and a manifest that says they are as they should be."""
        members = self.members | changed
        stated = json.loads(members["manifest.json"]) | manifest
        for name, content in changed.items():
            if name == "images.jsonl":
                stated["images"] = stated_sum(content)
            elif name.startswith("tables/"):
                stated["tables"][name[7:-6]] |= stated_sum(content)
        with zipfile.ZipFile(self.file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in (members | {"manifest.json": json.dumps(stated).encode()}).items():
                archive.writestr(name, content)


def stated_sum(content: bytes) -> dict[str, Any]:
    return {"rows": content.count(b"\n"), "sha256": hashlib.sha256(content).hexdigest()}


def installed(directory: Path) -> Installation:
    """Return an installation with a user, a message and an image."""
    directory.mkdir()
    config = configure(directory / "c.json", storage={"path": str(directory / "data"), "backend": "sqlite"})
    one = Installation.load(config, {})

    async def fill() -> None:
        async with one.storage() as storage, one.images() as images:
            async with storage.write() as tx:
                await tx.fetch(
                    "insert into users (id, user_name, email, is_admin, created_at)"
                    " values ('1', 'Ada', 'a@b', 1, 1)"
                )
                await tx.fetch(
                    "insert into images (filename, room_id, uploaded_by, created_at, media_type, size)"
                    " values ($1, 'x', '1', 1, 'image/png', 5)",
                    IMAGE,
                )
            await images.put(IMAGE, b"right")

    trio.run(fill)
    (one.directory / "jwt-secret").write_bytes(b"x" * 64)
    return one


@pytest.fixture
def backup(tmp_path: Path) -> Backup:
    file = tmp_path / "backup.zip"
    trio.run(back_up, installed(tmp_path / "one"), file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return Backup(file, members, installed(tmp_path / "two"))


def refused(backup: Backup, *, match: str | None = None) -> str:
    """Expect that nothing is restored; return why."""

    async def state() -> Any:
        async with backup.target.storage() as storage:
            kept = await sums(storage)
        files = (path for path in backup.target.directory.rglob("*") if path.is_file())
        return kept, sorted(path.name for path in files if "-" not in path.name)

    before = trio.run(state)
    with pytest.raises(OperatorError, match=match) as caught:
        trio.run(restore, backup.target, backup.file, Wishes(replaces=True))
    assert trio.run(state) == before
    assert [path.name for path in (backup.target.directory / "images").iterdir()] == [IMAGE]
    said = str(caught.value)
    assert "\n" not in said
    return said


def user(backup: Backup, **values: Any) -> bytes:
    """Return the line of the user, with other values."""
    columns = json.loads(backup.members["manifest.json"])["tables"]["users"]["columns"]
    row = dict(zip(columns, json.loads(backup.members["tables/users.jsonl"]), strict=True))
    return json.dumps(list((row | values).values())).encode() + b"\n"


ODD_LINES: dict[str, Callable[[Backup], bytes]] = {
    "a number that is none": lambda backup: user(backup, created_at=float("nan")),
    "a number with a fraction": lambda backup: user(backup, created_at=1.5),
    "a number beyond 64 bits": lambda backup: user(backup, created_at=2**63),
    "a lone surrogate": lambda backup: user(backup, user_name="\ud800"),
    "bytes that are no UTF-8": lambda backup: user(backup, user_name="?").replace(b"?", b"\xff"),
    "a text with a NUL": lambda backup: user(backup, user_name="a\0"),
    "a list": lambda backup: user(backup, user_name=["a"]),
    "lists in lists": lambda _: b"[" * 5000 + b"]" * 5000 + b"\n",
    "no value where one must be": lambda backup: user(backup, user_name=None),
    "a number for a text": lambda backup: user(backup, user_name=5),
    "a text for a number": lambda backup: user(backup, created_at="soon"),
    "the same row twice": lambda backup: user(backup) * 2,
    "a line without an end": lambda backup: user(backup)[:-2],
}


@pytest.mark.parametrize("odd", ODD_LINES)
def test_rows_that_no_database_can_hold_change_nothing(odd: str, backup: Backup) -> None:
    backup.forge({"tables/users.jsonl": ODD_LINES[odd](backup)})
    refused(backup)


def test_a_row_that_refers_to_none_changes_nothing(backup: Backup) -> None:
    stated = json.loads(backup.members["manifest.json"])["tables"]["reactions"]["columns"]
    row = {"message_id": "none", "reaction": "a", "user_id": "1", "place": 1}
    line = json.dumps([row[column] for column in stated]).encode() + b"\n"
    backup.forge({"tables/reactions.jsonl": line})
    refused(backup)


LISTED = {
    "an absolute path": ["/etc/passwd", 5],
    "a path that leads out": ["../../x", 5],
    "a path that is nested": ["a/b.png", 5],
    "a size below none": [IMAGE, -2],
    "a size beyond all": [IMAGE, 2**62],
    "another size": [IMAGE, 4],
    "a name that no entry has": ["2-b.png", 5],
}


@pytest.mark.parametrize("odd", LISTED)
def test_images_that_are_not_what_the_list_says_change_nothing(odd: str, backup: Backup) -> None:
    name, size = LISTED[odd]
    line = json.dumps([name, size, hashlib.sha256(b"right").hexdigest()]).encode() + b"\n"
    backup.forge({"images.jsonl": line, f"images/{'2-c.png' if '2-' in str(name) else name}": b"right"})
    refused(backup, match="Nothing was changed")


@pytest.mark.parametrize(
    "manifest",
    [
        {"logEnd": -1},
        {"logEnd": 2**63},
        {"images": {"rows": 10**30, "sha256": ""}},
        {"tables": {}},
        {"tables": {"sqlite_master": {"columns": ["sql"], "rows": 0, "sha256": ""}}},
        {"version": 2, "format": "\x1b[2J" * 1000},
        {"schema": "x"},
    ],
)
def test_a_manifest_that_can_not_be_changes_nothing(manifest: dict[str, Any], backup: Backup) -> None:
    backup.forge({}, **manifest)
    assert len(refused(backup, match="Nothing was changed")) < 1000


def test_a_name_that_stands_there_twice_is_refused(backup: Backup) -> None:
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(backup.file, "a") as archive,
    ):
        archive.writestr(f"images/{IMAGE}", b"other")
    refused(backup, match="it is no backup")


def test_a_method_that_says_how_much_memory_it_needs_is_refused(backup: Backup) -> None:
    with zipfile.ZipFile(backup.file, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("images/more.png", b"more")
    refused(backup, match="it is no backup")


def test_a_list_of_entries_that_is_longer_than_any_is_refused(
    backup: Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfiles, "MOST_DIRECTORY_BYTES", 200)
    refused(backup, match="it is no backup")


def test_what_finds_no_room_is_refused_before_it_is_written(
    tmp_path: Path, backup: Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "three"
    empty.mkdir()
    config = configure(empty / "c.json", storage={"path": str(empty / "data"), "backend": "sqlite"})

    class Usage(NamedTuple):
        free: int = 10

    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: Usage())
    with pytest.raises(OperatorError, match="Make room first"):
        trio.run(restore, Installation.load(config, {}), backup.file)


BOMBS = ("manifest.json", "tables/users.jsonl", "images.jsonl", f"images/{IMAGE}", "jwt-secret")
MEASURED = r"""
import re, sys
from teamchat.cli import main
code = main(sys.argv[1:])
# Not getrusage's figure, which begins with that of the process which forked this one.
print(code, re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_a_large_one_takes_little_memory(name: str, backup: Backup) -> None:
    zeros, ending = b" " * MIB, b"\n"
    digest = hashlib.sha256()
    for _ in range(BOMB // MIB):
        digest.update(zeros)
    digest.update(ending)
    stated = {"rows": 1, "sha256": digest.hexdigest()}
    manifest = json.loads(backup.members["manifest.json"])
    if name == "images.jsonl":
        manifest["images"] = stated
    if name.startswith("tables/"):
        manifest["tables"]["users"] |= stated
    with zipfile.ZipFile(backup.file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for each, content in (backup.members | {"manifest.json": json.dumps(manifest).encode()}).items():
            if each != name:
                archive.writestr(each, content)
        with archive.open(name, "w") as entry:
            for _ in range(BOMB // MIB):
                entry.write(zeros)
            entry.write(ending)
    assert backup.file.stat().st_size < BOMB / 100
    config = backup.target.directory.parent / "c.json"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "restore", "--replace", "--config", config, backup.file],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    code, kibibytes = done.stdout.split()[-2:]
    assert code == "1"
    assert done.stderr.splitlines()[-1].startswith("teamchat: ")
    assert "Nothing was changed" in done.stderr
    assert int(kibibytes) < ENOUGH_KIB


@given(st.data())
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_bytes_are_changed_it_reads_the_same_or_is_told_to_be_damaged(
    backup: Backup, data: st.DataObject
) -> None:
    whole = backup.file.read_bytes()
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1) | st.integers(len(whole) - 3000, len(whole) - 1))
        changed[at] = data.draw(st.sampled_from([0, 1, 0x41, 0x7F, 0xFF]) | st.integers(0, 255))
    file = backup.file.with_name("changed.zip")
    file.write_bytes(changed)
    with suppress(Damaged), opened(file) as archive:
        archive.verify()
        for table in archive.manifest.tables:
            found = b"".join(
                json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                for page in archive.pages(table)
                for row in page
            )
            assert found == backup.members[f"tables/{table}.jsonl"]
        assert list(archive.images()) == [(IMAGE, b"right")]
