"""After a restore or a move everybody sees the private rooms that they saw, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.operations.backup import back_up
from teamchat.operations.installation import Installation
from teamchat.operations.moving import move_installation
from teamchat.operations.restore import restore
from tests.operations.conftest import configure
from tests.operations.exchanging import fresh, sound
from tests.operations.test_private_rooms import filled, sights, world_of
from tests.postgres import shared


def empty(directory: Path, backend: str) -> Installation:
    storage: dict[str, Any] = {"path": str(directory / "data")}
    if backend == "postgres":
        storage |= {"backend": backend, "url": shared().url(shared().new_database())}
    directory.mkdir()
    (directory / "data").mkdir(mode=0o700)
    return Installation.load(configure(directory / "c.json", storage=storage), {})


@pytest.mark.parametrize(
    ("way", "backend"),
    [
        ("restore", "sqlite"),
        pytest.param("restore", "postgres", marks=pytest.mark.slow),
        ("move", "postgres"),
    ],
)
def test_everybody_sees_after_it_what_they_saw_before_and_nothing_more(
    tmp_path: Path, way: str, backend: str
) -> None:
    one, two = fresh(tmp_path / "one"), empty(tmp_path / "two", backend)

    async def there() -> tuple[dict[str, Any], dict[str, Any]]:
        async with world_of(one) as world:
            await filled(world)
            before = await sights(world)
        if way == "restore":
            await back_up(one, tmp_path / "backup.zip")
            await restore(two, tmp_path / "backup.zip")
        else:
            await move_installation(one, two, lambda *_: None)
        async with world_of(two) as world:
            after = await sights(world)
            await sound(world.storage, backend)
        return before, after

    before, after = trio.run(there)
    assert any("Secret" in name for name in before)
    assert after == before
