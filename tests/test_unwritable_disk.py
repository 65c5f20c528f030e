"""A disk that takes no more writes while a server runs: it says so, serves who reads, and goes on afterwards.

The kernel refuses the server's writes beyond a size of file (setrlimit(2), RLIMIT_FSIZE), as it refuses them
on a file system that it has made read-only; sockets and pipes are not files to it.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE, Server, listening, running
from tests.storages import ON_SQLITE
from tests.web.test_images import png

pytestmark = pytest.mark.skipif(not ON_SQLITE, reason="PostgreSQL's disk is its own")
LOG_BYTES = 48 * 1024
"""What the limit leaves to the log; the database and its own log are longer from the start."""


@contextmanager
def no_writes(server: Server) -> Iterator[None]:
    """Refuse what a server writes into files."""
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (LOG_BYTES, hard))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


@pytest.mark.slow
async def test_writes_are_503_reads_go_on_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada:
        path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
        image = base64.b64encode(png() + os.urandom(LOG_BYTES)).decode()
        acknowledged = [await posted(ada, path, number) for number in range(5)]
        with no_writes(server):
            refused = [
                await ada.post(path, json={"content": "lost"}),
                await ada.post("/channels", json={"name": "lost"}),
                await ada.put("/users/me", json={"userName": "Lost"}),
                await ada.post("/auth/dev-login", json={"email": "lost@example.org"}),
                await ada.post(f"{path}/image", json={"filename": "lost.png", "image": image}),
            ]
            assert [(answer.status_code, set(answer.json())) for answer in refused] == [(503, {"error"})] * 5
            assert all("Nothing was changed" in answer.json()["error"] for answer in refused)
            assert (await ada.get("/health")).status_code == 200
            assert [message["content"] for message in await page(ada, path)] == ["0", "1", "2", "3", "4"]
            async with listening(ada):
                pass
            await server.until_logged("the database can't be written to")
        acknowledged += [await posted(ada, path, number) for number in range(5, 10)]
        assert (
            await ada.post(f"{path}/image", json={"filename": "a.png", "image": image})
        ).status_code == 200
        await server.until_logged("the database can be written to again")
        assert server.logged().count("the database can't be written to") == 1
        assert await server.end() == 0
    async with running(tmp_path) as server, await server.sign_in() as ada:
        assert [message["id"] for message in await page(ada, path)] == acknowledged
        assert {one["name"] for one in (await ada.get("/channels")).json()["channels"]} & {"lost"} == set()


async def posted(client: httpx2.AsyncClient, path: str, number: int) -> str:
    answer = await client.post(path, json={"content": str(number)})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["message"]["id"])


async def page(client: httpx2.AsyncClient, path: str) -> list[dict[str, Any]]:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["messages"])


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
PRIVATE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY]


@pytest.mark.slow
@pytest.mark.parametrize("secret", [None, "a secret that the configuration holds, long enough"])
@pytest.mark.parametrize("before", ["nothing", "a server that ended", "a server that was killed"])
async def test_a_server_that_starts_on_a_read_only_disk_says_so_in_one_line(
    tmp_path: Path, before: str, secret: str | None
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    tried = await trio.run_process([*PRIVATE, str(data), "true"], check=False, capture_stderr=True)
    if tried.returncode:
        pytest.skip("this machine lets nobody mount anything in a name space of their own")
    auth = {} if secret is None else {"auth": {"authMode": "dev", "jwtSecret": secret}}
    if before != "nothing":
        async with running(tmp_path, **auth) as server, await server.sign_in():
            if before == "a server that was killed":
                server.process.kill()
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(configured(tmp_path, auth))]
    with trio.fail_after(DEADLINE):
        ended = await trio.run_process(
            [*PRIVATE, str(data), *command],
            check=False,
            capture_stdout=True,
            capture_stderr=True,
            cwd=tmp_path,
        )
    *_, line = ended.stderr.decode().splitlines()
    assert ended.returncode == 1, line
    assert line.startswith("teamchat: ")
    assert "storage.path" in line
    assert "is on a file system that is read-only." in line or "(Read-only file system)" in line


def configured(directory: Path, sections: dict[str, Any]) -> Path:
    config = directory / "start.json"
    settings = {
        "auth": {"authMode": "dev"},
        "server": {"port": 0},
        "storage": {"path": str(directory / "data")},
    }
    config.write_text(json.dumps(settings | sections))
    return config
