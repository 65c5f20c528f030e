"""What was backed up while people talked is there after the restore, and nobody's stream has a gap."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from hypothesis import given, settings

from teamchat.cluster import Members
from teamchat.errors import OperatorError, StorageError
from teamchat.interfaces import ImageStore
from teamchat.operations.archived import Damaged
from teamchat.operations.backup import back_up
from teamchat.operations.installation import Installation
from teamchat.operations.restore import Wishes, restore
from teamchat.operations.stored_images import put_image
from teamchat.storage.tables import LOG, tables
from teamchat.testing import listening
from teamchat.testing.storage import append
from tests.harness import running
from tests.operations.conftest import PIXEL, configure, talk, teamchat
from tests.postgres import shared
from tests.storage.filling import Filling, fill, fillings, sums
from tests.storages import storage_section


def installation(directory: Path, **storage: Any) -> Installation:
    """Return an installation with its data in `directory`."""
    directory.mkdir(exist_ok=True)
    return Installation.load(
        configure(directory / "config.json", storage={"path": str(directory / "data")} | storage), {}
    )


def on_postgres(directory: Path) -> Installation:
    return installation(directory, backend="postgres", url=shared().url(shared().new_database()))


async def started(one: Installation) -> None:
    """Do what makes an installation one: there is a user."""
    async with one.storage() as storage, storage.write() as tx:
        await tx.fetch(
            "insert into users (id, user_name, email, is_admin, created_at) values ('1', 'Ada', 'a@b', 1, 1)"
        )
    one.directory.mkdir(exist_ok=True)


async def add_image(one: Installation, data: bytes) -> None:
    """Have an installation keep an image."""
    async with one.storage() as storage, storage.write() as tx:
        await tx.fetch(
            "insert into images (filename, room_id, uploaded_by, created_at, media_type, size)"
            " values ('1-a.png', 'x', '1', 1, 'image/png', 1)"
        )
    async with one.images() as store:
        await store.put("1-a.png", data)


@pytest.mark.slow
@given(filling=fillings())
@settings(max_examples=10)
def test_a_backup_of_one_storage_restores_into_another(filling: Filling) -> None:
    async def there_and_back(place: Path) -> None:
        one, two, three = installation(place / "1"), on_postgres(place / "2"), installation(place / "3")
        one.directory.mkdir()
        async with one.storage() as storage:
            await fill(storage, filling | {"images": [], "message_images": []})
            original = await sums(storage)
        await back_up(one, place / "first.zip")
        await restore(two, place / "first.zip")
        two.directory.mkdir(exist_ok=True)
        await back_up(two, place / "second.zip")
        await restore(three, place / "second.zip")
        for restored in (two, three):
            async with restored.storage() as storage:
                assert await sums(storage) | {LOG: None} == original | {LOG: None}

    with tempfile.TemporaryDirectory() as place:
        trio.run(there_and_back, Path(place))


@pytest.mark.slow
async def test_nothing_acknowledged_before_the_backup_is_missing_and_streams_reload(
    tmp_path: Path,
) -> None:
    """A server under posts, a backup, the loss of everything, a restore: and the clients come back."""
    file, acknowledged = tmp_path / "backup.zip", list[str]()
    new = tmp_path / "new"
    new.mkdir()

    async def post(ada: httpx2.AsyncClient, path: str) -> None:
        with trio.CancelScope() as scope:
            scopes.append(scope)
            for number in range(10_000):
                answer = await ada.post(path, json={"content": f"{number}"})
                acknowledged.append(answer.json()["message"]["id"])

    async with running(tmp_path) as server:
        async with await server.sign_in() as ada, listening(ada, last_event_id="") as events:
            channel, image = await talk(ada)
            scopes: list[trio.CancelScope] = []
            async with trio.open_nursery() as nursery:
                for _ in range(4):
                    nursery.start_soon(post, ada, f"/channels/{channel}/messages")
                while len(acknowledged) < 20:  # noqa: ASYNC110 - the posts go on by themselves
                    await trio.sleep(0.01)
                before = list(acknowledged)
                said = await trio.to_thread.run_sync(
                    lambda: teamchat("backup", "--config", tmp_path / "teamchat.json", file)
                )
                for scope in scopes:
                    scope.cancel()
            after = list(acknowledged)
            while (await events.until("NEW_MESSAGE"))["id"] != after[-1]:
                pass
        token = ada.headers["Authorization"].removeprefix("Bearer ")
        await server.end()
    assert f"{file} is written." in said
    assert len(after) > len(before), "nothing was posted meanwhile"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.glob("*.part")) == []
    config = configure(new / "teamchat.json", storage=storage_section(new / "data"))
    await trio.to_thread.run_sync(lambda: teamchat("restore", "--config", config, file))
    async with (
        running(new) as server,
        server.client(token) as ada,
        listening(ada, last_event_id=events.last_id) as resumed,
    ):
        assert (await resumed.next())["type"] == "RESYNC"
        there: set[str] = set()
        query: dict[str, str] = {"limit": "200"}
        while page := (await ada.get(f"/channels/{channel}/messages", params=query)).json()["messages"]:
            there |= {message["id"] for message in page}
            query["before"] = page[0]["id"]
        assert set(before) <= there
        assert there <= {*after, page_id(there, after)}
        shown = await ada.get(f"/channels/{channel}/messages/image/{image}")
        assert shown.content == PIXEL
        await ada.post(f"/channels/{channel}/messages", json={"content": "after"})
        assert (await resumed.until("NEW_MESSAGE"))["content"] == "after"
        assert int(resumed.last_id) > int(events.last_id)
        await server.end()


def page_id(there: set[str], after: list[str]) -> str:
    """Return the one message that was there before the posts."""
    [first] = there - set(after)
    return first


@pytest.mark.slow
async def test_a_second_restore_of_one_backup_gives_no_number_again(tmp_path: Path) -> None:
    one, file = installation(tmp_path / "1"), tmp_path / "backup.zip"
    await started(one)
    await back_up(one, file)
    ends = []
    for name in ("2", "3"):
        again = installation(tmp_path / name)
        await restore(again, file)
        async with again.storage() as storage:
            await append(storage, "event")
            ends.append(await storage.log_bounds())
    assert ends[0][0] == ends[0][1] > 10**15
    assert ends[1][0] > ends[0][1]


async def test_an_installation_with_data_is_left_as_it_is_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    await back_up(one, file)
    await started(two)
    async with two.storage() as storage:
        async with storage.write() as tx:
            await tx.fetch(
                "insert into images (filename, room_id, uploaded_by, created_at, media_type, size)"
                " values ('1-a.png', 'x', '1', 1, 'image/png', 1)"
            )
            await tx.fetch("insert into doomed_images (key) values ('0-deleted.png')")
        await append(storage, "event")
        before = await sums(storage)
    with pytest.raises(StorageError, match="give --replace"):
        await restore(two, file)
    async with two.storage() as storage:
        assert await sums(storage) == before
    await restore(two, file, Wishes(replaces=True))
    async with one.storage() as left, two.storage() as right:
        wanted, found = await sums(left), await sums(right)
        differing = {table.name for table in tables() if wanted[table.name] != found[table.name]}
        assert differing == {"doomed_images"}, "the bytes of images that are gone are to be removed"
        async with right.read() as tx:
            doomed = await tx.fetch("select key from doomed_images order by key")
            assert doomed == [("0-deleted.png",), ("1-a.png",)]


async def test_a_server_that_starts_while_images_are_put_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    await add_image(one, b"a")
    await back_up(one, file)

    async def put(store: ImageStore, key: str, data: bytes) -> None:
        await put_image(store, key, data)
        async with two.storage() as storage, storage.write() as tx:
            await Members(storage).join_in(tx)

    monkeypatch.setattr("teamchat.operations.restore.put_image", put)
    with pytest.raises(StorageError, match="A server runs on this installation"):
        await restore(two, file)
    async with two.storage() as storage, storage.read() as tx:
        assert not await tx.fetch("select 1 from users")
    async with two.images() as store:
        assert await store.get("1-a.png") is None


@pytest.mark.slow
async def test_images_that_went_while_the_backup_was_made_are_left_out(tmp_path: Path) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    async with one.storage() as storage, storage.write() as tx:
        await tx.fetch(
            "insert into messages (id, room_id, author_id, content, created_at) values ('m', 'p', '1', '', 1)"
        )
        for name, thumbnail in (("1-a.png", None), ("2-b.png", "image/png"), ("3-c.png", "image/png")):
            await tx.fetch(
                "insert into images (filename, room_id, uploaded_by, created_at, media_type, size,"
                " thumbnail_type, thumbnail_size) values ($1, 'p', '1', 1, 'image/png', 3, $2, $3)",
                *(name, thumbnail, thumbnail and 5),
            )
            await tx.fetch(
                "insert into message_images (message_id, place, filename) values ('m', $1, $2)",
                *(int(name[0]), name),
            )
    async with one.images() as store:
        for key in ("2-b.png", "3-c.png", "thumb-3-c.png"):
            await store.put(key, key.encode())
    said = await back_up(one, file)
    assert any("images have no bytes" in line for line in said)
    await restore(two, file)
    async with two.storage() as storage, storage.read() as tx:
        rows = await tx.fetch("select filename, thumbnail_type, thumbnail_size from images order by filename")
        assert rows == [("2-b.png", None, None), ("3-c.png", "image/png", 5)]
        assert await tx.fetch("select filename from message_images order by place") == [
            ("2-b.png",),
            ("3-c.png",),
        ]
    async with two.images() as store:
        assert (chunks := await store.get("thumb-3-c.png")) is not None
        assert [chunk async for chunk in chunks] == [b"thumb-3-c.png"]
        assert await store.get("1-a.png") is None


def entries(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def without_a_row(members: dict[str, bytes]) -> None:
    members["tables/users.jsonl"] = b""


def with_another_image(members: dict[str, bytes]) -> None:
    members["images/1-a.png"] = b"other"


def without_an_image(members: dict[str, bytes]) -> None:
    del members["images/1-a.png"]


def without_the_manifest(members: dict[str, bytes]) -> None:
    del members["manifest.json"]


def of_another_schema(members: dict[str, bytes]) -> None:
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | {"schema": 1}).encode()


def with_an_image_elsewhere(members: dict[str, bytes]) -> None:
    line = json.dumps(["../1-a.png", 5, hashlib.sha256(b"right").hexdigest()]).encode() + b"\n"
    members["images/../1-a.png"], members["images.jsonl"] = b"right", line
    images = {"rows": 1, "sha256": hashlib.sha256(line).hexdigest()}
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | {"images": images}).encode()


def with_other_columns(members: dict[str, bytes]) -> None:
    manifest = json.loads(members["manifest.json"])
    manifest["tables"]["users"]["columns"] = ["id"]
    members["manifest.json"] = json.dumps(manifest).encode()


def with_a_short_secret(members: dict[str, bytes]) -> None:
    members["jwt-secret"] = b"short"
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | {"hasSecret": True}).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "harm",
    [
        without_a_row,
        with_another_image,
        without_an_image,
        without_the_manifest,
        of_another_schema,
        with_an_image_elsewhere,
        with_other_columns,
        with_a_short_secret,
    ],
)
async def test_a_damaged_backup_changes_nothing(
    harm: Callable[[dict[str, bytes]], None], tmp_path: Path
) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    await add_image(one, b"right")
    await back_up(one, file)
    members = entries(file)
    harm(members)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(Damaged, match="Nothing was changed"):
        await restore(two, file)
    assert not two.directory.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifest.json", "tables/users.jsonl"])
@pytest.mark.parametrize("what", ["bytes", "encryption", "method"])
async def test_a_backup_that_a_disk_has_damaged_changes_nothing(name: str, what: str, tmp_path: Path) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    await back_up(one, file)
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        entry = archive.getinfo(name)
    in_directory = data.rindex(name.encode()) - 46  # PKWARE's APPNOTE, 4.3.12
    if what == "bytes":
        data[entry.header_offset + 30 + data[entry.header_offset + 28] + len(name)] ^= 0xFF
    else:
        data[in_directory + (8 if what == "encryption" else 10)] ^= 0x41
    file.write_bytes(data)
    with pytest.raises(Damaged, match="Nothing was changed"):
        await restore(two, file)
    assert not two.directory.exists()


@pytest.mark.slow
async def test_a_backup_whose_rows_are_none_changes_nothing(tmp_path: Path) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    await back_up(one, file)
    whole = entries(file)
    for line in (b"5\n", b"[]\n", b'["1"]\n', b"[[]]\n", b"[" + b"9" * 30 + b"]\n"):
        members = dict(whole)
        manifest = json.loads(members["manifest.json"])
        members["tables/users.jsonl"] = line
        manifest["tables"]["users"] |= {"rows": 1, "sha256": hashlib.sha256(line).hexdigest()}
        members["manifest.json"] = json.dumps(manifest).encode()
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        with pytest.raises(Damaged, match="Nothing was changed"):
            await restore(two, file)
    async with two.storage() as storage, storage.read() as tx:
        assert await tx.fetch("select 1 from users") == []


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 100, 0.5, 0.99])
async def test_a_backup_that_was_cut_off_changes_nothing(length: float, tmp_path: Path) -> None:
    one, two, file = installation(tmp_path / "1"), installation(tmp_path / "2"), tmp_path / "backup.zip"
    await started(one)
    await back_up(one, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(length * len(whole)) if 0 < length < 1 else int(length)])
    with pytest.raises(Damaged):
        await restore(two, file)
    assert not two.directory.exists()


@pytest.mark.slow
async def test_sessions_may_be_left_out(tmp_path: Path) -> None:
    one, file = installation(tmp_path / "1"), tmp_path / "backup.zip"
    await started(one)
    async with one.storage() as storage, storage.write() as tx:
        await tx.fetch(
            "insert into sessions (id, user_id, created_at, last_used_at, expires_at, ends_at, ip,"
            " user_agent) values ('s', '1', 1, 1, 1, 1, '', '')"
        )
        await tx.fetch("insert into refresh_tokens (token_hash, session_id, expires_at) values ('t', 's', 1)")
    await back_up(one, file)
    for name, wishes, count in (("2", Wishes(), 1), ("3", Wishes(ends_sessions=True), 0)):
        restored = installation(tmp_path / name)
        await restore(restored, file, wishes)
        async with restored.storage() as storage, storage.read() as tx:
            for table in ("sessions", "refresh_tokens"):
                assert await tx.fetch(f"select count(*) from {table}") == [(count,)]


@pytest.mark.slow
async def test_a_file_that_is_there_is_left_as_it_is_and_one_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, file = installation(tmp_path / "1"), tmp_path / "backup.zip"
    await started(one)
    file.write_text("mine")
    with pytest.raises(OperatorError, match="is there already"):
        await back_up(one, file)
    assert file.read_text() == "mine"
    with pytest.raises(OperatorError, match="can't be written"):
        await back_up(one, tmp_path / "nowhere" / "backup.zip")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def tell(*_: object) -> None:
        full()

    with pytest.raises(OperatorError, match="No space left on device"):
        await back_up(one, tmp_path / "other.zip", tell)
    assert not [name for name in os.listdir(tmp_path) if "other" in name]


async def test_a_backup_is_not_written_where_a_link_leads_nor_into_a_file_of_others(tmp_path: Path) -> None:
    one, file = installation(tmp_path / "1"), tmp_path / "backup.zip"
    await started(one)
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "backup.zip.part").symlink_to(tmp_path / "victim")
    await back_up(one, file)
    assert (tmp_path / "victim").read_text() == "kept"
    assert not file.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.slow
async def test_the_generated_secret_is_in_the_file_and_a_configured_one_is_not(tmp_path: Path) -> None:
    one = installation(tmp_path / "1")
    await started(one)
    said = await back_up(one, tmp_path / "none.zip")
    assert any(line.startswith("There is no signing secret in storage.path") for line in said)
    (one.directory / "jwt-secret").write_bytes(b"x" * 64 + b"\n")
    await back_up(one, tmp_path / "generated.zip")
    two = installation(tmp_path / "2")
    await restore(two, tmp_path / "generated.zip")
    assert (two.directory / "jwt-secret").read_bytes().strip() == b"x" * 64
    assert stat.S_IMODE((two.directory / "jwt-secret").stat().st_mode) == 0o600
    config = configure(
        tmp_path / "c.json", auth={"jwtSecret": "y" * 40}, storage={"path": str(one.directory)}
    )
    configured = Installation.load(config, {})
    await back_up(configured, tmp_path / "configured.zip")
    assert b"y" * 40 not in b"".join(entries(tmp_path / "configured.zip").values())
    assert "jwt-secret" not in entries(tmp_path / "configured.zip")
    said = await restore(installation(tmp_path / "3"), tmp_path / "configured.zip")
    assert any("Configure the same here" in line for line in said)
