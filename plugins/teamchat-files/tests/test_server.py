"""Files through a whole server: uploads, messages, serving, sight, and what goes (extension G)."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from tests.harness import running

_tus = import_module("plugins.teamchat-files.tests.uploading")
first_channel, post, upload = _tus.first_channel, _tus.post, _tus.upload


async def test_a_small_file_is_one_request_and_stands_in_a_message(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    async with running(tmp_path) as server, await server.sign_in() as ada:
        channel = await first_channel(ada)
        id_ = await upload(ada, channel, data, "räksmörgås.bin")
        info = (await ada.get(f"/files/{id_}/info")).json()["file"]
        assert info["name"] == "räksmörgås.bin"
        assert (info["size"], info["mediaType"], info["state"]) == (
            len(data),
            "application/octet-stream",
            "ready",
        )
        async with await server.sign_in("bob@example.org") as bob:
            assert (await bob.get(f"/files/{id_}")).status_code == 404
            message = await post(ada, channel, [id_])
            assert [one["id"] for one in message["files"]] == [id_]
            read = await bob.get(f"/files/{id_}")
            assert read.content == data
            part = await bob.get(f"/files/{id_}", headers={"Range": "bytes=10-19"})
            assert (part.status_code, part.content) == (206, data[10:20])
            assert part.headers["Content-Range"] == f"bytes 10-19/{len(data)}"
            link = (await bob.post(f"/files/{id_}/link")).json()
            async with server.client() as nobody:
                assert (await nobody.get(link["url"])).content == data
                assert (await nobody.get(f"/files/{id_}")).status_code == 401
            page = (await bob.get(f"/channels/{channel}/messages")).json()["messages"]
            assert page[-1]["files"][0]["id"] == id_
            assert link["url"].partition("=")[2] not in server.logged()
