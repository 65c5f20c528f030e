"""Importing what stands at a path, whatever program wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from teamchat.errors import OperatorError
from teamchat.operations.exchange.form import HEAD, Source
from teamchat.operations.exchange.importing import Importer
from teamchat.operations.exchange.reading import ExportDirectory
from teamchat.operations.exchange.report import Report, reporting
from teamchat.operations.exchange.slack import SlackExport
from teamchat.operations.exchange.slack_files import SlackFiles, opened_root
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
    async with installation.existing_storage() as storage, installation.images() as images:
        with reporting(wishes.report) as report, _source(path, wishes, report) as source:
            await Importer(storage, images, source, report).run(tell)
    said = report.lines()
    if report.has_notes and wishes.report is not None:
        said.append(f"{wishes.report} names each of them.")
    return said


@contextmanager
def _source(path: Path, wishes: Wishes, report: Report) -> Iterator[Source]:
    if not path.exists():
        raise OperatorError(f"There is no {path}.")
    if (path / HEAD).is_file():
        yield ExportDirectory(path)
        return
    with opened_root(path) as root:
        if root is None:
            raise OperatorError(
                f"{path} is neither an export of teamchat (it would hold {HEAD}) nor one of Slack "
                "(users.json and channels.json, in a directory or a ZIP file)."
            )
        yield SlackExport(SlackFiles(root, report), report, includes_private=wishes.includes_private)
