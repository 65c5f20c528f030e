"""A server that is killed while it removes a deleted channel or thread goes on when it is started again."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from teamchat.model import now_ms
from teamchat.model.ids import id_at
from teamchat.storage.statements import flat, in_pieces, values
from teamchat.testing import DEADLINE
from tests.harness import running
from tests.storages import look, open_storage

MESSAGES = 6000


async def fill(data: Path, room: str, parent: str | None) -> None:
    """Write a history, or replies to a message, that takes seconds to remove."""
    at = now_ms() - MESSAGES
    rows = [
        (id_at(at + n, f"message {n}"), room, parent, "ada", f"secret {n}", at + n) for n in range(MESSAGES)
    ]
    async with open_storage(data) as storage, storage.write() as tx:
        for piece in in_pieces(rows):
            listed = values("({0}, {1}, {2}, {3}, {4}, {5})", 6, len(piece), 0)
            columns = "id, room_id, parent_id, author_id, content, created_at"
            await tx.fetch(f"insert into messages ({columns}) values {listed}", *flat(piece))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["channel", "thread"])
async def test_it_goes_on_after_kill_9_and_what_was_deleted_stays_gone(tmp_path: Path, what: str) -> None:
    data = tmp_path / "data"
    async with running(tmp_path) as server, await server.sign_in() as ada:
        room = (await ada.post("/channels", json={"name": "Long"})).json()["channel"]["id"]
        path, read, parent = f"/channels/{room}", f"/channels/{room}/messages", None
        if what == "thread":
            posted = await ada.post(f"/channels/{room}/messages", json={"content": "?"})
            parent = posted.json()["message"]["id"]
            path, read = f"/messages/{parent}", f"/messages/{parent}/thread"
    await fill(data, room, parent)

    def left() -> int:
        return int(look(data, "select count(*) from messages where content like 'secret%'")[0][0])

    async with running(tmp_path) as server, await server.sign_in() as ada:
        assert (await ada.get(read)).status_code == 200
        assert (await ada.delete(path)).status_code == 200
        assert (await ada.get(read)).status_code == 404
        with trio.fail_after(DEADLINE):
            while left() > MESSAGES - 500:  # noqa: ASYNC110  # The server is another process.
                await trio.sleep(0.02)
        server.process.kill()
        await server.process.wait()
    assert 0 < left() < MESSAGES

    async with running(tmp_path) as server, await server.sign_in() as ada:
        assert (await ada.get(read)).status_code == 404
        if what == "channel":
            assert (await ada.post("/channels", json={"name": "Long"})).status_code == 200
        with trio.fail_after(DEADLINE):
            while left():  # noqa: ASYNC110
                await trio.sleep(0.1)
            while look(data, "select 1 from rooms where kind = 'gone'"):  # noqa: ASYNC110
                await trio.sleep(0.02)
