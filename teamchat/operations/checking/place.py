"""Checks of the data directory, of who can read it, and of the free space on the disks."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from teamchat.errors import OperatorError
from teamchat.operations.checking.findings import Finding, ok, problem, warning
from teamchat.operations.installation import Installation
from teamchat.operations.room import in_units
from teamchat.settings.signing import SECRET_NAME
from teamchat.storage.sqlite import why_closed

_LITTLE_BYTES = 1024**3
_TOO_LITTLE_BYTES = 100 * 1024**2


def check_directory(installation: Installation) -> Iterator[Finding]:
    """Check who may read the data directory, and the room on its disk."""
    directory = installation.directory
    if (why := why_closed(directory)) is not None:
        yield problem("directory", *why)
        return
    if not installation.has_directory:
        if not _is_needed(installation):
            yield ok("directory", "none is needed: everything is kept elsewhere")
            return
        yield problem(
            "directory",
            f"storage.path: there is no directory {directory}.",
            "Start the server once, or give the configuration it is started with.",
        )
        return
    yield from _check_modes(directory)
    yield _check_room(directory)
    images = None
    with suppress(OperatorError):  # The check of the image store says so.
        images = installation.image_directory
    if images is not None and os.path.isdir(images) and images.stat().st_dev != directory.stat().st_dev:
        yield _check_room(images)


def _is_needed(installation: Installation) -> bool:
    settings = installation.settings
    return settings.storage.backend == "sqlite" or settings.auth.jwt_secret is None


def _check_modes(directory: Path) -> Iterator[Finding]:
    wide = [
        path
        for path in (directory, directory / SECRET_NAME, *directory.glob("*.db*"))
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if wide:
        yield warning(
            "directory",
            f"others may read {', '.join(map(str, wide))}",
            f"chmod go= {' '.join(shlex.quote(str(path)) for path in wide)}",
        )
    else:
        yield ok("directory", f"{directory} is for its owner alone")


def _check_room(directory: Path) -> Finding:
    usage = shutil.disk_usage(directory)
    sentence = f"{in_units(usage.free)} are free ({usage.free / usage.total:.0%}) below {directory}"
    remedy = "Make room: without any, nothing can be written, though nothing is lost."
    if usage.free < _TOO_LITTLE_BYTES:
        return problem("disk", sentence, remedy)
    if usage.free < _LITTLE_BYTES:
        return warning("disk", sentence, remedy)
    return ok("disk", sentence)
