"""A whole installation moves: the same pages, the same sessions, and the streams go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from teamchat.operations.installation import Installation
from teamchat.operations.moving import move_installation
from teamchat.operations.stored_images import read_image
from teamchat.settings import jwt_secret
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.testing import listening
from tests.harness import running
from tests.operations.conftest import configure, talk, teamchat
from tests.postgres import shared
from tests.storages import sqlite_only


async def shown(ada: httpx2.AsyncClient, channel: str, image: str) -> list[Any]:
    page = (await ada.get(f"/channels/{channel}/messages")).json()["messages"]
    replies = (await ada.get(f"/messages/{page[0]['id']}/thread")).json()
    users = (await ada.get("/users")).json()
    bytes_ = (await ada.get(f"/channels/{channel}/messages/image/{image}")).content
    return [page, replies, users, bytes_]


@pytest.mark.slow
@sqlite_only("it moves from SQLite")
async def test_pages_sessions_and_streams_go_on_after_a_move_to_postgresql(
    tmp_path: Path, data: Path
) -> None:
    elsewhere = {
        "backend": "postgres",
        "url": shared().url(shared().new_database()),
        "path": str(tmp_path / "new"),
    }
    async with running(tmp_path, storage={"backend": "sqlite", "path": str(data)}) as server:
        old_config = (tmp_path / "teamchat.json").rename(tmp_path / "old.json")
        async with await server.sign_in() as ada, listening(ada, last_event_id="") as events:
            channel, image = await talk(ada)
            await events.until("NEW_THREAD_REPLY")
            await ada.post(f"/channels/{channel}/messages", json={"content": "unseen"})
            before = await shown(ada, channel, image)
        token = ada.headers["Authorization"].removeprefix("Bearer ")
        await server.end()
    new_config = configure(tmp_path / "new.json", storage=elsewhere)
    said = await trio.to_thread.run_sync(
        lambda: teamchat("migrate-storage", "--from", old_config, "--to", new_config)
    )
    assert "Every table has the same rows on both sides." in said
    assert "The images were copied." in said
    assert "messages: 3" in said
    assert f"Next: teamchat serve --config {new_config}" in said
    assert "TEAMCHAT" not in said
    async with running(tmp_path, storage=elsewhere) as server, server.client(token) as ada:
        assert await shown(ada, channel, image) == before
        async with listening(ada, last_event_id=events.last_id) as resumed:
            assert (await resumed.until("NEW_MESSAGE"))["content"] == "unseen"
            await ada.post(f"/channels/{channel}/messages", json={"content": "new"})
            assert (await resumed.until("NEW_MESSAGE"))["content"] == "new"
        await server.end()


@pytest.mark.slow
@sqlite_only("it moves from SQLite")
def test_a_running_source_is_refused(tmp_path: Path, data: Path) -> None:
    target = configure(tmp_path / "new.json", storage={"path": str(tmp_path / "new")})

    async def ask() -> str:
        async with running(tmp_path, storage={"backend": "sqlite", "path": str(data)}):
            return await trio.to_thread.run_sync(
                lambda: teamchat(
                    "migrate-storage", "--from", tmp_path / "teamchat.json", "--to", target, status=1
                )
            )

    said = trio.run(ask)
    assert "teamchat: A server runs on the database of --from. Stop it first" in said


def test_the_same_database_on_both_sides_is_refused(tmp_path: Path, data: Path) -> None:
    data.mkdir()
    one = configure(tmp_path / "one.json", storage={"path": str(data)})
    two = configure(tmp_path / "two.json", storage={"path": str(data / ".." / "data")})
    assert "name the same database" in teamchat("migrate-storage", "--from", one, "--to", two, status=1)


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path, data: Path) -> None:
    one = configure(tmp_path / "one.json", storage={"path": str(data)})
    two = configure(tmp_path / "two.json", storage={"path": str(tmp_path / "new")})
    assert "there is no directory" in teamchat("migrate-storage", "--from", one, "--to", two, status=1)
    assert not data.exists()
    assert not (tmp_path / "new").exists()


async def test_no_server_starts_on_a_database_that_is_being_moved_into(tmp_path: Path, data: Path) -> None:
    async with open_sqlite(SqliteOptions(path=str(data))) as storage, storage.write() as tx:
        await tx.fetch("insert into marks (name, value) values ('movingFrom', 'somebody')")
    config = configure(tmp_path / "one.json", storage={"path": str(data)})
    said = await trio.to_thread.run_sync(lambda: teamchat("serve", "--config", config, status=1))
    assert "Give the command teamchat migrate-storage again" in said


@pytest.mark.slow
async def test_a_move_that_is_killed_goes_on_when_it_is_started_again(tmp_path: Path, data: Path) -> None:
    source = configure(tmp_path / "one.json", storage={"path": str(data)})
    target = configure(tmp_path / "two.json", storage={"path": str(tmp_path / "new")})
    count = 12_000
    async with open_sqlite(SqliteOptions(path=str(data))) as storage, storage.write() as tx:
        await tx.fetch(
            "insert into users (id, user_name, email, is_admin, created_at) values ('1', 'Ada', 'a@b', 1, 1)"
        )
        for number in range(count):
            await tx.fetch(
                "insert into messages (id, room_id, author_id, content, created_at)"
                " values ($1, 'place', '1', 'content', 1)",
                f"{number:032}",
            )

    async def copied() -> int:
        if not (tmp_path / "new" / "teamchat.db").exists():
            return 0
        async with open_sqlite(SqliteOptions(path=str(tmp_path / "new"))) as storage, storage.read() as tx:
            return int((await tx.fetch("select count(*) from messages"))[0][0])

    command = [sys.executable, "-m", "teamchat", "migrate-storage"]
    for enough in (1000, 5000):
        process = await trio.lowlevel.open_process(
            [*command, "--from", str(source), "--to", str(target)], stderr=subprocess.DEVNULL
        )
        with trio.fail_after(60):
            while await copied() < enough:  # noqa: ASYNC110 - another process writes
                await trio.sleep(0.005)
        process.kill()
        await process.wait()
        assert enough <= await copied() < count
    said = await trio.to_thread.run_sync(
        lambda: teamchat("migrate-storage", "--from", source, "--to", target)
    )
    assert "Every table has the same rows on both sides." in said
    assert await copied() == count


async def started(directory: Path) -> Installation:
    """Return an installation that has a user."""
    installation = target(directory)
    async with installation.storage() as storage, storage.write() as tx:
        await tx.fetch(
            "insert into users (id, user_name, email, is_admin, created_at) values ('1', 'Ada', 'a@b', 1, 1)"
        )
    return installation


def target(directory: Path, **sections: dict[str, Any]) -> Installation:
    """Return an installation with its data in `directory`, empty yet."""
    directory.mkdir()
    storage = {"storage": {"path": str(directory / "data")}}
    return Installation.load(configure(directory / "c.json", **storage | sections), {})


async def test_a_source_without_its_secret_is_told(tmp_path: Path) -> None:
    source = await started(tmp_path / "source")
    (source.directory / "jwt-secret").unlink(missing_ok=True)
    said = await move_installation(source, target(tmp_path / "target"), lambda *_: None)
    assert any(line.startswith("There is no signing secret in the storage.path of --from") for line in said)


@pytest.mark.slow
async def test_a_generated_secret_goes_along_and_one_that_is_there_stays(tmp_path: Path) -> None:
    source = await started(tmp_path / "source")
    secret = jwt_secret(source.settings)
    fresh = target(tmp_path / "fresh")
    said = await move_installation(source, fresh, lambda *_: None)
    assert "The signing secret was copied to the storage.path of --to." in said
    assert jwt_secret(fresh.settings) == secret
    assert (fresh.directory / "jwt-secret").stat().st_mode & 0o077 == 0
    other = target(tmp_path / "other")
    kept = jwt_secret(other.settings)
    said = await move_installation(source, other, lambda *_: None)
    assert any("The signing secrets (auth.jwtSecret) differ" in line for line in said)
    assert jwt_secret(other.settings) == kept
    same = target(tmp_path / "same", auth={"jwtSecret": secret.decode()})
    said = await move_installation(source, same, lambda *_: None)
    assert not [line for line in said if "secret" in line]


async def test_images_that_the_source_has_lost_are_counted_and_the_others_are_copied_once(
    tmp_path: Path,
) -> None:
    source = await started(tmp_path / "source")
    async with source.storage() as storage, storage.write() as tx:
        for name in ("1-a.png", "2-b.png"):
            await tx.fetch(
                "insert into images (filename, room_id, uploaded_by, created_at, media_type, size,"
                " thumbnail_type, thumbnail_size) values ($1, 'p', '1', 1, 'image/png', 3, 'image/png', 3)",
                name,
            )
    async with source.images() as store:
        for key in ("1-a.png", "thumb-1-a.png", "2-b.png"):
            await store.put(key, key.encode())
    to = target(tmp_path / "to")
    said = await move_installation(source, to, lambda *_: None)
    assert "The images were copied. 1 of them had no bytes where they were kept." in said
    async with to.images() as store:
        assert await read_image(store, "thumb-1-a.png") == b"thumb-1-a.png"
        assert await read_image(store, "thumb-2-b.png") is None
