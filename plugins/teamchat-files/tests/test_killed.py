"""G-1: a server that is killed at any moment loses nothing that it has acknowledged."""

from __future__ import annotations

import hashlib
import os
import random
from importlib import import_module
from pathlib import Path

import httpx2
import pytest
import trio

from tests.harness import free_port, running

_tus = import_module("plugins.teamchat-files.tests.uploading")
begin, first_channel, offset_of, patch = _tus.begin, _tus.first_channel, _tus.offset_of, _tus.patch


async def _upload_until_killed(
    directory: Path, port: int, data: bytes, id_: str, acknowledged: int, chunk: int, kill_after: float | None
) -> tuple[str, int]:
    """Go on with an upload until the server is killed after some seconds, or to the end.

    Returns the upload's id and what was acknowledged.
    """
    async with (
        running(directory, server={"port": port}, files={"maxBytes": 400 * 1024 * 1024}) as server,
        await server.sign_in() as ada,
    ):
        if not id_:
            made = await begin(ada, await first_channel(ada), len(data))
            id_ = made.headers["Location"].rpartition("/")[2]
        offset = await offset_of(ada, id_)
        assert offset >= acknowledged, "what was acknowledged is lost"
        acknowledged = offset
        async with trio.open_nursery() as nursery:
            if kill_after is not None:
                nursery.start_soon(_kill, server, kill_after)
            try:
                while offset < len(data):
                    answer = await patch(ada, id_, offset, data[offset : offset + chunk])
                    assert answer.status_code == 204, answer.text
                    offset = acknowledged = int(answer.headers["Upload-Offset"])
            except httpx2.HTTPError:
                assert kill_after is not None
            else:
                nursery.cancel_scope.cancel()
                read = await ada.get(f"/files/{id_}")
                assert hashlib.sha256(read.content).digest() == hashlib.sha256(data).digest()
    return id_, acknowledged


async def _kill(server: object, seconds: float) -> None:
    await trio.sleep(seconds)  # Not a wait for anything: the moment is what is tried out.
    server.process.kill()  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_an_upload_goes_on_after_ten_kills(tmp_path: Path) -> None:
    chance, data = random.Random(20), os.urandom(300 * 1024 * 1024)
    port, id_, acknowledged, chunk = free_port(), "", 0, 4 * 1024 * 1024
    for _ in range(10):
        id_, acknowledged = await _upload_until_killed(
            tmp_path, port, data, id_, acknowledged, chunk, chance.uniform(0.05, 0.6)
        )
        if acknowledged == len(data):
            break
    await _upload_until_killed(tmp_path, port, data, id_, acknowledged, chunk, None)


async def test_an_upload_goes_on_after_a_kill(tmp_path: Path) -> None:
    data, port = os.urandom(24 * 1024 * 1024), free_port()
    id_, acknowledged = await _upload_until_killed(tmp_path, port, data, "", 0, 1024 * 1024, 0.15)
    await _upload_until_killed(tmp_path, port, data, id_, acknowledged, 1024 * 1024, None)
