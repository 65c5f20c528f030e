"""What the tests of pushes share; for the browser's, the servers that the web client's own tests visit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.push_world import World, opened

_web = import_module("plugins.teamchat-web.tests.conftest")
enter, serve, visit = _web.enter, _web.serve, _web.visit
accessible, look = _web.accessible, _web.look


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as made:
        yield made
