"""What was deleted or edited is readable nowhere any more: in no stream, no backup, no file (X-15)."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import Server, listening
from tests.harness import running
from tests.operations.conftest import teamchat
from tests.storages import ON_SQLITE, sqlite_only

SECRET = "what nobody shall read"


async def _said(client: httpx2.AsyncClient, method: str, path: str, **body: Any) -> dict[str, Any]:
    answer = await client.request(method, path, json=body)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found.get("message") or found.get("reply") or found


HISTORIES = ["nobody", "author"]
"""Who reads what edited messages said: it is kept for the author, until the message is deleted (H-6)."""


async def _talk(ada: httpx2.AsyncClient, bob: httpx2.AsyncClient, history: str = "nobody") -> str:
    """Say the secret everywhere, take it back in each way there is, and return the last message."""
    channel, doomed = [
        (await _said(ada, "POST", "/channels", name=name))["channel"]["id"] for name in ("kept", "doomed")
    ]
    for place in (channel, doomed):
        parent = await _said(ada, "POST", f"/channels/{place}/messages", content=SECRET)
        await _said(bob, "POST", f"/messages/{parent['id']}/thread", content=SECRET)
        if place == channel:
            await _said(ada, "DELETE", f"/messages/{parent['id']}")
    await _said(ada, "DELETE", f"/channels/{doomed}")
    edited = await _said(ada, "POST", f"/channels/{channel}/messages", content=SECRET)
    await _said(ada, "PUT", f"/messages/{edited['id']}", content="better")
    if history != "nobody":
        await _said(ada, "DELETE", f"/messages/{edited['id']}")
    me = (await bob.get("/auth/me")).json()
    opened = await _said(ada, "POST", "/conversations", targetUserId=me["user"]["id"])
    direct = opened["conversation"]["id"]
    message = await _said(ada, "POST", f"/conversations/{direct}/messages", content=SECRET)
    await _said(ada, "DELETE", f"/conversations/{direct}/messages/{message['id']}")
    last = await _said(ada, "POST", f"/channels/{channel}/messages", content="the end")
    return str(last["id"])


async def _heard(client: httpx2.AsyncClient, last: str) -> list[dict[str, Any]]:
    """Return everything that a stream from the log's beginning says, to the last message."""
    heard: list[dict[str, Any]] = []
    async with listening(client, last_event_id="0") as events:
        while not heard or heard[-1]["payload"].get("id") != last:
            heard.append(await events.next())
    return heard


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_no_stream_tells_what_was_deleted(tmp_path: Path, workers: int) -> None:
    async with (
        running(tmp_path, server={"workers": workers}) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
    ):
        last = await _talk(ada, bob)
        await _check(server, last)
        late = await server.sign_in("late@example.org")
        after = await _said(bob, "POST", await _first_channel(bob), content="hello")
        async with late:
            heard = await _heard(late, after["id"])
        assert [event["type"] for event in heard] == ["NEW_USER", "NEW_MESSAGE"], (
            "nobody is told what was before their account"
        )
    async with running(tmp_path) as again:
        await _check(again, last)


async def _check(server: Server, last: str) -> None:
    for _ in range(4):  # More than one worker may answer.
        async with await server.sign_in() as known:
            heard = await _heard(known, last)
        types = [event["type"] for event in heard]
        assert SECRET not in str(heard)
        for kind, count in {"NEW_MESSAGE": 4, "NEW_THREAD_REPLY": 2, "NEW_DM_MESSAGE": 1}.items():
            assert types.count(kind) == count
        for kind in ("DELETE_MESSAGE", "DELETE_CHANNEL", "UPDATE_MESSAGE", "DELETE_DM_MESSAGE"):
            assert types.count(kind) == 1


async def _first_channel(client: httpx2.AsyncClient) -> str:
    return f"/channels/{(await client.get('/channels')).json()['channels'][0]['id']}/messages"


@pytest.mark.slow
@pytest.mark.parametrize("history", HISTORIES)
async def test_no_backup_and_no_export_holds_what_was_deleted(tmp_path: Path, history: str) -> None:
    backup = tmp_path / "backup.zip"
    async with running(tmp_path, chat={"editHistory": history}) as server:
        async with await server.sign_in() as ada, await server.sign_in("bob@example.org") as bob:
            await _talk(ada, bob, history)
        await trio.to_thread.run_sync(
            lambda: teamchat("backup", "--config", tmp_path / "teamchat.json", backup)
        )
    with zipfile.ZipFile(backup) as archive:
        assert archive.namelist()
        for name in archive.namelist():
            assert SECRET.encode() not in archive.read(name), name


@pytest.mark.slow
@sqlite_only("the file is SQLite's")
@pytest.mark.parametrize("history", HISTORIES)
async def test_no_file_holds_what_was_deleted_once_the_server_has_ended(tmp_path: Path, history: str) -> None:
    async with running(tmp_path, chat={"editHistory": history}) as server:
        async with await server.sign_in() as ada, await server.sign_in("bob@example.org") as bob:
            await _talk(ada, bob, history)
        await server.end()
    assert ON_SQLITE
    files = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
    assert any(b"the end" in file.read_bytes() for file in files)
    assert not [file for file in files if SECRET.encode() in file.read_bytes()]
