"""A teamchat server whose images are in a bucket."""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from importlib import import_module
from pathlib import Path

import httpx2
import pytest
import trio

from tests.harness import running

own = import_module("plugins.teamchat-files-s3.tests.conftest").own

pytestmark = pytest.mark.slow


def png(size: int) -> bytes:
    """Return a picture of one grey row, with so many bytes that can't be made smaller."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    width = size
    header = width.to_bytes(4) + (1).to_bytes(4) + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(b"\0" + os.urandom(width), 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def section(server) -> dict[str, object]:
    return {
        "backend": "s3",
        "bucket": "images",
        "endpoint": server.endpoint,
        "accessKeyId": "teamchat-tests",
        "secretAccessKey": {"env": "S3_SECRET_OF_THE_TESTS"},
        "prefix": "chat",
        "connectSeconds": 1,
        "readSeconds": 2,
    }


async def test_images_are_kept_in_the_bucket_and_outlive_a_store_that_was_away(
    tmp_path: Path, own, monkeypatch
) -> None:
    monkeypatch.setenv("S3_SECRET_OF_THE_TESTS", "a-secret-of-the-tests")
    image = png(9_000_000)
    async with running(tmp_path, images=section(own)) as server, await server.sign_in() as client:
        [channel] = (await client.get("/channels")).json()["channels"]
        address = f"/channels/{channel['id']}/messages/image"
        body = {"filename": "a.png", "image": base64.b64encode(image).decode()}
        answer = await client.post(address, json=body)
        assert answer.status_code == 200, answer.text
        filename = answer.json()["filename"]
        assert f"chat/{filename}" in own.objects()
        read = await client.get(f"{address}/{filename}")
        assert read.headers["Content-Type"] == "image/png"
        assert read.content == image

        own.kill()
        small = json.loads(json.dumps(body | {"image": base64.b64encode(png(100)).decode()}))
        for answer in (await client.get(f"{address}/{filename}"), await client.post(address, json=small)):
            assert answer.status_code == 503, answer.text
            assert set(answer.json()) == {"error"}
            assert "store" in answer.json()["error"]
        posted = await client.post(f"/channels/{channel['id']}/messages", json={"content": "still here"})
        assert posted.status_code == 200

        own.start()
        assert (await client.get(f"{address}/{filename}")).content == image
        posted = await client.post(
            f"/channels/{channel['id']}/messages", json={"content": "", "images": [filename]}
        )
        message = posted.json()["message"]
        assert (await client.delete(f"/messages/{message['id']}")).status_code == 200
        assert (await client.get(f"{address}/{filename}")).status_code == 404
        assert await server.end() == 0


async def leave_in_the_middle(client: httpx2.AsyncClient, address: str) -> None:
    """Ask for an image and go away with its first bytes."""
    host, port = client.base_url.host, client.base_url.port
    assert port is not None
    async with await trio.open_tcp_stream(host, port) as stream:
        head = f"GET {address} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {client.headers['Authorization']}"
        await stream.send_all(f"{head}\r\n\r\n".encode())
        assert (await stream.receive_some(1000)).startswith(b"HTTP/1.1 200")


async def test_a_client_that_goes_away_in_the_middle_leaves_the_server_well(
    tmp_path: Path, own, monkeypatch
) -> None:
    monkeypatch.setenv("S3_SECRET_OF_THE_TESTS", "a-secret-of-the-tests")
    image = png(9_000_000)
    async with running(tmp_path, images=section(own)) as server, await server.sign_in() as client:
        [channel] = (await client.get("/channels")).json()["channels"]
        address = f"/channels/{channel['id']}/messages/image"
        body = {"filename": "a.png", "image": base64.b64encode(image).decode()}
        filename = (await client.post(address, json=body)).json()["filename"]
        with trio.fail_after(20):
            for _ in range(30):
                await leave_in_the_middle(client, f"{address}/{filename}")
            assert (await client.get(f"{address}/{filename}")).content == image
        assert await server.end() == 0


async def test_a_server_that_can_not_use_its_bucket_does_not_start_and_says_why(
    tmp_path: Path, own, monkeypatch
) -> None:
    monkeypatch.setenv("S3_SECRET_OF_THE_TESTS", "a-wrong-secret")
    config = tmp_path / "teamchat.json"
    config.write_text(json.dumps({"images": section(own), "storage": {"path": str(tmp_path / "data")}}))
    ended = await trio.run_process(
        [sys.executable, "-m", "teamchat", "serve", "--config", str(config)],
        capture_stdout=True,
        capture_stderr=True,
        check=False,
    )
    told = (ended.stdout + ended.stderr).decode()
    assert ended.returncode != 0
    assert "images.secretAccessKey (SignatureDoesNotMatch)" in told
    assert "a-wrong-secret" not in told
    assert "Traceback" not in told
