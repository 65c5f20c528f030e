"""An application with mentions and some users, on the storage that the tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mentions.world import World, contract


@pytest.fixture
def world(tmp_path: Path) -> Any:
    """Return what opens it."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[World]:
        async with contract().application(tmp_path / "world") as app:
            yield await World.opened(app)  # type: ignore[misc]

    return opened
