"""Files in a bucket through whole servers: uploads that go on at another one, and ranges."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import teamchat_files_s3

from teamchat.testing import running

_images = import_module("plugins.teamchat-files-s3.tests.conftest")
_tus = import_module("plugins.teamchat-files.tests.uploading")
MIB = 1024 * 1024


async def test_an_upload_goes_on_at_another_server_after_the_first_was_killed(tmp_path: Path) -> None:
    store = _images.S3Server()
    data = os.urandom(19 * MIB + 5)
    settings: dict[str, Any] = {
        "files": {"backend": "s3"},
        "plugins": {
            "files-s3": {
                "bucket": _images.BUCKET,
                "endpoint": store.endpoint,
                "accessKeyId": _images.ACCOUNT,
                "secretAccessKey": _images.SECRET,
            }
        },
    }
    try:
        async with (
            running(tmp_path, plugin=teamchat_files_s3, **settings) as first,
            await first.sign_in() as ada,
        ):
            place = await _tus.first_channel(ada)
            answer = await _tus.begin(ada, place, len(data), "film.bin")
            file_id = answer.headers["Location"].rpartition("/")[2]
            assert (await _tus.patch(ada, file_id, 0, data[: 8 * MIB])).status_code == 204
            assert (await _tus.patch(ada, file_id, 8 * MIB, data[8 * MIB : 11 * MIB])).status_code == 204
            first.process.kill()
            await first.process.wait()
        async with (
            running(tmp_path, plugin=teamchat_files_s3, **settings) as second,
            await second.sign_in() as ada,
        ):
            offset = await _tus.offset_of(ada, file_id)
            assert offset == 11 * MIB
            while offset < len(data):
                answer = await _tus.patch(ada, file_id, offset, data[offset : offset + 8 * MIB])
                assert answer.status_code == 204, answer.text
                offset = int(answer.headers["Upload-Offset"])
            await _tus.post(ada, place, [file_id])
            assert (await ada.get(f"/files/{file_id}")).content == data
            part = await ada.get(f"/files/{file_id}", headers={"Range": "bytes=8388600-8388615"})
            assert part.status_code == 206
            assert part.content == data[8388600:8388616]
        assert [name for name in store.objects() if ".tail-" in name] == []
    finally:
        store.remove()
