"""Exporting an application in a test, and importing into another one."""

from __future__ import annotations

import json
from pathlib import Path

from teamchat.application import Application
from teamchat.operations.import_export.exporting import write_files, write_head, write_records
from teamchat.operations.import_export.importing import Importer
from teamchat.operations.import_export.reading import ExportDirectory
from teamchat.operations.import_export.report import Report
from teamchat.operations.import_export.sections import FOLDER
from teamchat.testing.images import MemoryStore


async def export(app: Application, directory: Path) -> None:
    """Write an export, with the bytes of files and without those of images, into a new directory."""
    directory.mkdir()  # noqa: ASYNC240 - a test may block
    async with app.storage.read() as snapshot:
        head, _, files = await write_records(snapshot, directory, app.capabilities)
    await write_files(app.stored_files, directory, files)
    write_head(directory, head)


async def bring_in(app: Application, directory: Path) -> list[str]:
    """Import an export, and return what is said of it."""
    report = Report()
    source, files = ExportDirectory(directory), app.stored_files
    await Importer(app.storage, MemoryStore(), source, report, app.capabilities, files).run()
    return report.lines()


def records(directory: Path, capability: str) -> list[str]:
    """Return the records of a capability in an export, each a line of JSON."""
    return (directory / FOLDER / f"{capability}.jsonl").read_text().splitlines()


def renamed(lines: list[str], before: Path, after: Path) -> list[str]:
    """Return records with the ids that users and channels of one export have in another one."""
    text = "\n".join(lines)
    for name, key in (("users", "email"), ("channels", "name")):
        ids = {one[key]: one["id"] for one in _read(after, name)}
        for one in _read(before, name):
            text = text.replace(one["id"], ids[one[key]])
    return sorted(text.splitlines())


def _read(directory: Path, name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (directory / f"{name}.jsonl").read_text().splitlines()]
