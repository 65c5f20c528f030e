"""An application with mentions and some users, on the storage that the tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.mentions.world import World, contract


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what opens it, with the keys of ``[chat]`` that are given."""

    @asynccontextmanager
    async def opened(**chat: Any) -> AsyncIterator[World]:
        offered = contract()
        settings = offered.settings()
        settings = replace(settings, chat=replace(settings.chat, **chat))
        monkeypatch.setattr(offered, "settings", lambda: settings)
        async with offered.application(tmp_path / "world") as app:
            yield await World.opened(app)  # type: ignore[misc]

    return opened
