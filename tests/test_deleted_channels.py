"""A server that is killed while it removes a deleted channel goes on when it is started again."""

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


async def fill(data: Path, room: str) -> None:
    """Write a history that takes seconds to remove."""
    at = now_ms() - MESSAGES
    rows = [(id_at(at + n, f"message {n}"), room, "ada", f"secret {n}", at + n) for n in range(MESSAGES)]
    async with open_storage(data) as storage, storage.write() as tx:
        for piece in in_pieces(rows):
            listed = values("({0}, {1}, {2}, {3}, {4})", 5, len(piece), 0)
            await tx.fetch(
                f"insert into messages (id, room_id, author_id, content, created_at) values {listed}",
                *flat(piece),
            )


@pytest.mark.slow
async def test_it_goes_on_after_kill_9_and_the_channel_stays_gone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running(tmp_path) as server, await server.sign_in() as ada:
        room = (await ada.post("/channels", json={"name": "Long"})).json()["channel"]["id"]
    await fill(data, room)

    def left() -> int:
        return int(look(data, f"select count(*) from messages where room_id = '{room}'")[0][0])

    async with running(tmp_path) as server, await server.sign_in() as ada:
        assert len((await ada.get(f"/channels/{room}/messages")).json()["messages"]) == 50
        assert (await ada.delete(f"/channels/{room}")).status_code == 200
        assert (await ada.get(f"/channels/{room}/messages")).status_code == 404
        with trio.fail_after(DEADLINE):
            while left() > MESSAGES - 500:  # noqa: ASYNC110  # The server is another process.
                await trio.sleep(0.02)
        server.process.kill()
        await server.process.wait()
    assert 0 < left() < MESSAGES

    async with running(tmp_path) as server, await server.sign_in() as ada:
        assert (await ada.get(f"/channels/{room}/messages")).status_code == 404
        assert (await ada.post("/channels", json={"name": "Long"})).status_code == 200
        with trio.fail_after(DEADLINE):
            while left():  # noqa: ASYNC110
                await trio.sleep(0.1)
            while look(data, f"select 1 from rooms where id = '{room}'"):  # noqa: ASYNC110
                await trio.sleep(0.02)
