"""Images in a bucket: they stand where they always did, and the account needs no more rights than it did."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from teamchat import ImageStore, StorageError, Unavailable
from teamchat.plugins import Plugins
from teamchat.testing import ImageStoreContract
from teamchat.testing.images import KEY, content

_s3 = import_module("plugins.teamchat-files-s3.tests.conftest")
line, shared = _s3.line, _s3.shared


@asynccontextmanager
async def opened(server: Any, **others: object) -> AsyncIterator[ImageStore]:
    backend = Plugins.load().image_store("s3")
    given = {
        "bucket": _s3.BUCKET,
        "endpoint": server.endpoint,
        "access_key_id": _s3.ACCOUNT,
        "secret_access_key": _s3.SECRET,
    }
    async with backend.open(backend.options(**given | others)) as store:
        yield store


class TestS3Store(ImageStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, shared: Any) -> None:
        self._shared = shared

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[ImageStore]:
        prefix = f"contract/{hashlib.sha256(str(tmp_path).encode()).hexdigest()}"
        async with opened(self._shared, prefix=prefix) as store:
            yield store


async def test_an_image_is_an_object_of_its_name_and_takes_one_request(shared: Any) -> None:
    older = shared.directory / _s3.BUCKET / "chat" / "images" / KEY
    older.parent.mkdir(parents=True)
    older.write_bytes(b"of an older version")
    async with opened(shared, prefix="chat/images") as store:
        assert await content(store, KEY) == b"of an older version"
        await store.put(f"thumb-{KEY}", b"new")
        await store.delete(KEY)
    assert [one for one in shared.objects() if one.startswith("chat/")] == [f"chat/images/thumb-{KEY}"]


async def test_errors_name_the_keys_of_images(shared: Any, line: Any) -> None:
    with pytest.raises(StorageError, match=r"^images\.bucket names a bucket"):
        async with opened(shared, bucket="nowhere"):
            pass
    line.answer, line.refusals = ("403 Forbidden", "AccessDenied"), 1
    with pytest.raises(StorageError, match=r"images\.accessKeyId") as caught:
        async with opened(shared, endpoint=line.endpoint):
            pass
    assert re.findall(r"s3:\w+", str(caught.value)) == ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"]


async def test_a_store_that_is_away_is_told_to_clients(shared: Any, line: Any) -> None:
    async with opened(shared, endpoint=line.endpoint) as store:
        line.cut()
        line.refusals = 1000
        with pytest.raises(Unavailable, match="does not work"):
            await store.put(KEY, b"data")
