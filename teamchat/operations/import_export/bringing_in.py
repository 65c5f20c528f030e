"""Importing what is at a path, whatever program wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from teamchat.errors import OperatorError
from teamchat.operations.import_export.files import AnyPath, has_directory, has_file, opened, unreadable
from teamchat.operations.import_export.form import HEAD, Source
from teamchat.operations.import_export.importing import Importer
from teamchat.operations.import_export.mattermost.export import MattermostExport
from teamchat.operations.import_export.mattermost.lines import BulkFile, bulk_file_in, is_bulk_file
from teamchat.operations.import_export.reading import ExportDirectory
from teamchat.operations.import_export.report import Report, reporting
from teamchat.operations.import_export.sections import parts_of
from teamchat.operations.import_export.slack.export import SlackExport
from teamchat.operations.import_export.slack.files import SlackFiles, root_in
from teamchat.operations.installation import Installation
from teamchat.storage.moving import Tell


class Wishes(NamedTuple):
    """How to import: public channels alone, and where to write what could not be brought over."""

    public_only: bool = False
    report: Path | None = None


async def bring_in(
    installation: Installation, path: Path, wishes: Wishes, tell: Tell = lambda *_: None
) -> list[str]:
    """Import and return what is to be said. Raises an `OperatorError`."""
    capabilities = installation.capabilities()
    async with (
        installation.existing_storage() as storage,
        installation.images() as images,
        installation.files(in_use=True) as files,
    ):
        keeps_files = files is not None and any(taken.name == "files" for taken, _ in parts_of(capabilities))
        with (
            _source(path, wishes, keeps_files=keeps_files) as source,
            reporting(wishes.report) as report,
        ):
            await Importer(storage, images, source(report), report, capabilities, files).run(tell)
    said = report.lines()
    if report.has_notes and report.path is not None:
        said.append(f"{report.path} names each of them.")
    return said


@contextmanager
def _source(path: Path, wishes: Wishes, *, keeps_files: bool) -> Iterator[Callable[[Report], Source]]:
    """Look at what is to be imported before anything is written; yield what reads it, and notes."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise OperatorError(f"There is no {path}.") from None
    except OSError as error:
        raise unreadable(path, error) from None
    if has_file(path / HEAD):
        directory = ExportDirectory(path)
        yield lambda _: directory
        return
    alone = path.resolve()
    if not has_directory(alone) and is_bulk_file(alone.parent, alone):
        yield partial(_mattermost, BulkFile(alone.parent, alone), wishes, keeps_files=keeps_files)
        return
    with opened(path) as folder:
        if (root := root_in(folder)) is not None:
            yield partial(_slack, root, wishes, keeps_files=keeps_files)
        elif (file := bulk_file_in(folder)) is not None:
            yield partial(_mattermost, file, wishes, keeps_files=keeps_files)
        else:
            raise OperatorError(
                f"{path} is neither an export of teamchat (it would hold {HEAD}) nor, in a directory or a "
                "ZIP file, one of Slack (users.json and channels.json) or of Mattermost (import.jsonl)."
            )


def _slack(root: AnyPath, wishes: Wishes, report: Report, *, keeps_files: bool) -> Source:
    return SlackExport(
        SlackFiles(root, report), report, public_only=wishes.public_only, keeps_files=keeps_files
    )


def _mattermost(file: BulkFile, wishes: Wishes, report: Report, *, keeps_files: bool) -> Source:
    return MattermostExport(file, report, public_only=wishes.public_only, keeps_files=keeps_files)
