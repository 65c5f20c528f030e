"""What the tests of export and import share: installations to bring things into, and what is in an export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import trio

from teamchat.interfaces import Storage
from teamchat.operations.checking import Level
from teamchat.operations.checking.database import check_database
from teamchat.operations.installation import Installation
from tests.operations.conftest import configure
from tests.operations.test_checking import lived_in


def fresh(directory: Path) -> Installation:
    """Return an installation that was started once: it has an admin."""
    directory.mkdir()
    config = configure(directory / "c.json", storage={"path": str(directory / "data")})

    async def start() -> None:
        async with lived_in(config) as storage, storage.write() as tx:
            for table in ("message_images", "images", "reactions", "threads"):
                await tx.fetch(f"delete from {table}")
            await tx.fetch("delete from messages where parent_id is not null")
            for table in ("messages", "memberships", "rooms where kind = 'direct'"):
                await tx.fetch(f"delete from {table}")

    trio.run(start)
    shutil.rmtree(directory / "data" / "images", ignore_errors=True)
    return Installation.load(config, {})


def records(directory: Path) -> dict[str, Any]:
    """Return everything in an export but the time it was made."""
    found: dict[str, Any] = {}
    for file in sorted(directory.rglob("*")):
        if file.name == "export.json":
            found[file.name] = json.loads(file.read_bytes()) | {"exportedAt": 0}
        elif file.is_file():
            found[str(file.relative_to(directory))] = file.read_bytes()
    return found


async def sound(storage: Storage, backend: str = "sqlite") -> None:
    """Expect that every rule of `teamchat check` holds."""
    await check_database(storage, backend, _expect_ok)


def _expect_ok(finding: Any) -> None:
    assert finding.level is not Level.PROBLEM, finding
