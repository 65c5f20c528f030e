"""The files of a room, page by page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.harness import running

_tus = import_module("plugins.teamchat-files.tests.uploading")


async def ids(client: Any, address: str, **query: str) -> tuple[list[str], str | None]:
    answer = await client.get(address, params=query)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert all(message["files"] for message in page["messages"])
    return [message["id"] for message in page["messages"]], page["next"]


@pytest.mark.slow
async def test_the_files_of_a_room_are_listed_newest_first_and_by_pages(tmp_path: Path) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada:
        place = await _tus.first_channel(ada)
        address = f"/channels/{place}/files"
        assert await ids(ada, address) == ([], None)
        said = []
        for number in range(3):
            two = [await _tus.upload(ada, place, b"x", f"{number}{letter}.bin") for letter in "ab"]
            said.append((await _tus.post(ada, place, two))["id"])
        await _tus.upload(ada, place, b"x", "not sent.bin")
        reply = await ada.post(
            f"/messages/{said[0]}/thread",
            json={"content": "", "files": [await _tus.upload(ada, place, b"x", "reply.bin")]},
        )
        every = [reply.json()["reply"]["id"], *reversed(said)]
        assert await ids(ada, address) == (every, None)
        first, cursor = await ids(ada, address, limit="3")
        assert first == every[:3]
        assert cursor is not None
        # A cursor outlives what it points at, and pages have nothing of what was deleted.
        assert (await ada.delete(f"/messages/{every[2]}")).status_code == 200
        assert await ids(ada, address, limit="3", cursor=cursor) == (every[3:], None)
        assert (await ada.get(address, params={"cursor": "?"})).status_code == 400


async def test_the_files_of_a_room_that_one_does_not_see_are_not_there(tmp_path: Path) -> None:
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("grace@example.org") as grace,
    ):
        place = await _tus.private_channel(ada)
        await _tus.post(ada, place, [await _tus.upload(ada, place, b"x")])
        hidden = await grace.get(f"/channels/{place}/files")
        absent = await grace.get(f"/channels/{'0' * 32}/files")
        assert (
            (hidden.status_code, hidden.content)
            == (absent.status_code, absent.content)
            == (404, absent.content)
        )
        assert len((await ids(ada, f"/channels/{place}/files"))[0]) == 1
        assert (await grace.get(f"/conversations/{place}/files")).status_code == 404
