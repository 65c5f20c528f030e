"""A server that may open few files from the start: it says so, or serves everybody their share."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

from teamchat.server.process import LEAST_FILES
from teamchat.testing import ADMIN, DEADLINE, Server
from teamchat.testing.servers import _address, _clear
from tests.security.world import written
from tests.storages import sqlite_only
from tests.web.test_images import png

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
DEV = {"auth": {"authMode": "dev", "isInviteRequired": False}}


def serving(config: Path, files: int) -> list[str]:
    """Return the command that serves with so many descriptors."""
    command = f'ulimit -n {files}; exec "{sys.executable}" -m teamchat serve --config "{config}"'
    return ["sh", "-c", command]


@pytest.mark.parametrize("files", [8, 20, LEAST_FILES - 1])
async def test_too_few_are_told_at_start_in_one_line(tmp_path: Path, files: int) -> None:
    with trio.fail_after(DEADLINE):
        ended = await trio.run_process(
            serving(written(tmp_path, DEV), files), check=False, capture_stdout=True, capture_stderr=True
        )
    assert ended.returncode not in (0, None)
    [line] = ended.stderr.decode().splitlines()
    assert f"Only {files} files may be open" in line
    assert "ulimit" in line
    assert ended.stdout == b""


async def test_with_just_enough_everything_works_however_many_connect(tmp_path: Path) -> None:
    config = written(tmp_path, DEV)
    process = await trio.lowlevel.open_process(serving(config, LEAST_FILES), stdout=subprocess.PIPE)
    server = Server("", process, tmp_path)
    try:
        server.base = await _address(server)
        port = int(server.base.rpartition(":")[2])
        async with AsyncExitStack() as stack, await server.sign_in(ADMIN) as client:
            for _ in range(3 * LEAST_FILES):
                await stack.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port))
            [channel] = (await client.get("/channels")).json()["channels"]
            path = f"/channels/{channel['id']}/messages"
            image = base64.b64encode(png()).decode()
            uploaded = await client.post(f"{path}/image", json={"filename": "a.png", "image": image})
            name = uploaded.json()["filename"]
            assert (await client.post(path, json={"content": "hi", "images": [name]})).status_code == 200
            assert (await client.get(f"{path}/image/{name}")).content == png()
        assert await server.end() == 0
    finally:
        await _clear(process)


def _why_not() -> str:
    """Return why no network of its own can be made here, if so."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "unshare and ip (util-linux, iproute2) are not installed"
    tried = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "ip", "link", "set", "lo", "up"],
        capture_output=True,
        check=False,
    )
    return tried.stderr.decode().strip() if tried.returncode else ""


@sqlite_only("a database elsewhere can't be reached from a network of its own")
async def test_an_address_that_is_not_this_machines_takes_its_share_and_no_more(tmp_path: Path) -> None:
    if why := _why_not():
        pytest.skip(f"no network of its own can be made: {why}")
    config = written(tmp_path, {"server": {"host": "203.0.113.1"}})
    inside = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-m", "tests.in_a_network"]
    with trio.fail_after(DEADLINE):
        told = await trio.run_process([*inside, *serving(config, 300)], capture_stdout=True, cwd=ROOT)
    left = json.loads(told.stdout)
    # Of 300 descriptors 64 are spared: from half of 236 connections on, an address has 64, the least share.
    assert left["others that were answered"] == 20
    assert left["others from before that live"] == 5
    assert 64 <= left["flood that lives"] <= 118
