from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from teamchat_images_s3 import S3Options, image_stores
from teamchat_images_s3.store import open_s3

from teamchat import ImageStore
from teamchat.testing import ImageStoreContract


class TestS3Store(ImageStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, shared, options) -> None:
        self._shared, self._options = shared, options

    @asynccontextmanager
    async def open_store(self, tmp_path: Path) -> AsyncIterator[ImageStore]:
        prefix = f"contract/{hashlib.sha256(str(tmp_path).encode()).hexdigest()}"
        async with open_s3(self._options(self._shared, prefix=prefix)) as store:
            yield store


async def test_the_backend_is_named_s3() -> None:
    [backend] = image_stores()
    assert (backend.name, backend.options) == ("s3", S3Options)
