"""A hub on a real storage; every test of a stream runs on both of its ways to the client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from teamchat.interfaces import Storage
from tests.storages import open_storage
from tests.stream.wire import WAYS, World, running


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_storage(tmp_path) as opened:
        yield opened


@pytest.fixture
async def world(storage: Storage, way: str) -> AsyncIterator[World]:
    async with running(storage, way) as started:
        yield started
