"""Uploads by the published clients of tus: `tuspy` for Python, and `tus-js-client`, which node runs."""

from __future__ import annotations

import json
import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
from tusclient.client import TusClient

from teamchat.testing import Server
from tests.harness import free_port, running
from tests.npm import npm_package

_tus = import_module("plugins.teamchat-files.tests.uploading")
first_channel, offset_of, post = _tus.first_channel, _tus.offset_of, _tus.post
CHUNK = 300_000
DATA = os.urandom(5 * CHUNK + 12_345)
NAME = "räksmörgås, 2.bin"


@pytest.fixture(scope="module")
def package() -> Path:
    return npm_package("tus-js-client", "4.3.1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "upload.bin"
    path.write_bytes(DATA)
    return path


def authorization(client: httpx2.AsyncClient) -> dict[str, str]:
    return {"Authorization": client.headers["Authorization"]}


async def is_whole(client: httpx2.AsyncClient, url: str) -> bool:
    """Whether what was uploaded can stand in a message, and is what it was."""
    id_ = url.rpartition("/")[2]
    info = (await client.get(f"/files/{id_}/info")).json()["file"]
    await post(client, await first_channel(client), [id_])
    return info["name"] == NAME and (await client.get(f"/files/{id_}")).content == DATA


# Python


async def with_tuspy(
    server: Server, client: httpx2.AsyncClient, file: Path, *, url: str | None = None, stop_at: int = 0
) -> str:
    """Upload a file up to a byte, or go on with it, in chunks with checksums; return its address."""
    metadata = {"placeId": await first_channel(client), "filename": NAME}

    def work() -> str:
        with file.open("rb") as stream:
            uploader = TusClient(f"{server.base}/uploads", headers=authorization(client)).uploader(
                file_stream=stream, url=url, chunk_size=CHUNK, metadata=metadata, upload_checksum=True
            )
            uploader.upload(stop_at=stop_at)
            return str(uploader.url)

    return await trio.to_thread.run_sync(work)


@pytest.mark.slow
async def test_the_client_for_python_uploads_pauses_and_goes_on_at_a_server_that_was_restarted(
    tmp_path: Path, file: Path
) -> None:
    port = {"port": free_port()}
    async with running(tmp_path, server=port) as server, await server.sign_in() as ada:
        begun = await with_tuspy(server, ada, file, stop_at=2 * CHUNK)
        assert await offset_of(ada, begun.rpartition("/")[2]) == 2 * CHUNK
    async with running(tmp_path, server=port) as server, await server.sign_in() as ada:
        assert await with_tuspy(server, ada, file, url=begun) == begun
        assert await is_whole(ada, begun)


# JavaScript


async def with_js(
    package: Path, server: Server, client: httpx2.AsyncClient, file: Path, **more: Any
) -> dict[str, Any]:
    """Have the client in JavaScript do something, in a process of its own, and return what it tells."""
    asked = {
        "endpoint": f"{server.base}/uploads",
        "headers": authorization(client),
        "metadata": {"placeId": await first_channel(client), "filename": NAME},
        "file": str(file),
        "urls": str(file.with_name("urls.json")),
        "chunkSize": CHUNK,
        **more,
    }
    command = ["node", str(Path(__file__).with_name("published.mjs")), str(package)]
    done = await trio.run_process(
        command, stdin=json.dumps(asked).encode(), capture_stdout=True, stderr=subprocess.STDOUT, check=False
    )
    assert done.returncode == 0, done.stdout.decode()
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.slow
async def test_the_client_for_javascript_uploads_pauses_and_goes_on_at_a_server_that_was_restarted(
    package: Path, tmp_path: Path, file: Path
) -> None:
    port = {"port": free_port()}
    async with running(tmp_path, server=port) as server, await server.sign_in() as ada:
        begun = await with_js(package, server, ada, file, stopAt=2 * CHUNK)
        assert await offset_of(ada, begun["url"].rpartition("/")[2]) == 2 * CHUNK
    async with running(tmp_path, server=port) as server, await server.sign_in() as ada:
        ended = await with_js(package, server, ada, file, pauseAt=4 * CHUNK)
        assert (ended["resumed"], ended["pauses"]) == (True, 1)
        assert ended["offsets"][0] == 3 * CHUNK, "it went on where it was"
        assert ended["url"] == begun["url"]
        assert await is_whole(ada, ended["url"])


@pytest.mark.slow
async def test_the_client_for_javascript_sends_a_file_in_one_request_and_ends_an_upload(
    package: Path, tmp_path: Path, file: Path
) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada:
        whole = await with_js(package, server, ada, file, isInOne=True, chunkSize=len(DATA))
        assert whole["offsets"] == [len(DATA)]
        assert await is_whole(ada, whole["url"])
        begun = await with_js(package, server, ada, file, urls=str(tmp_path / "others.json"), stopAt=CHUNK)
        await with_js(package, server, ada, file, end=begun["url"])
        answer = await ada.head(begun["url"], headers=_tus.TUS)
        assert answer.status_code == 404
