"""Importing what stands at a path, whatever program wrote it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from teamchat.errors import OperatorError
from teamchat.operations.exchange.form import HEAD, Report, Source
from teamchat.operations.exchange.importing import Importer
from teamchat.operations.exchange.reading import ExportDirectory
from teamchat.operations.exchange.slack import SlackExport
from teamchat.operations.exchange.slack_files import is_slack_export
from teamchat.operations.installation import Installation
from teamchat.storage.moving import Tell


class Wishes(NamedTuple):
    """How to import: with what was private, and where to write what could not be brought over."""

    includes_private: bool = False
    report: Path | None = None


async def bring_in(
    installation: Installation, path: Path, wishes: Wishes, tell: Tell = lambda *_: None
) -> list[str]:
    """Import and return what is to be said. Raises an `OperatorError`."""
    report = Report()
    source = _source(path, wishes, report)
    async with installation.existing_storage() as storage, installation.images() as images:
        await Importer(storage, images, source, report).run(tell)
    said = report.lines()
    if report.omissions and wishes.report is not None:
        _write(wishes.report, report)
        said.append(f"{wishes.report} names each of them.")
    return said


def _source(path: Path, wishes: Wishes, report: Report) -> Source:
    if not path.exists():
        raise OperatorError(f"There is no {path}.")
    if (path / HEAD).is_file():
        return ExportDirectory(path)
    if is_slack_export(path):
        return SlackExport(path, report, includes_private=wishes.includes_private)
    raise OperatorError(
        f"{path} is neither an export of teamchat (it would hold {HEAD}) nor one of Slack (users.json and "
        "channels.json, in a directory or a ZIP file)."
    )


def _write(path: Path, report: Report) -> None:
    lines = b"".join([msgspec.json.encode(one) + b"\n" for one in report.omissions.values()])
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(lines)
    except OSError as error:
        raise OperatorError(f"{path} can't be written ({error.strerror}). All else was done.") from error
