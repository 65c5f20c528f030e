"""Whether there is enough free space on a disk for what is about to be written.

Only what can't possibly fit is refused: the overhead of a database or a file system is not counted.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from teamchat.errors import OperatorError


def check_room(wanted: Iterable[tuple[Path, int]]) -> None:
    """Raise `OperatorError` if so many bytes do not fit below their directories, which need not be there."""
    needed = defaultdict[int, int](int)
    for directory, length in wanted:
        there = _existing(directory)
        disk, free = there.stat().st_dev, shutil.disk_usage(there).free
        needed[disk] += length
        if needed[disk] > free:
            raise OperatorError(
                f"{in_units(needed[disk])} have to be written below {directory}, and "
                f"{in_units(free)} are free there. Make room first. Nothing was changed."
            )


def bytes_in(directory: Path) -> int:
    """Return how many bytes the files of a directory have, 0 if it is not there. Raises `OperatorError`."""
    if not os.path.isdir(directory):
        return 0
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    except OSError as error:
        raise OperatorError(f"{directory} can't be read ({error.strerror}).") from error


def in_units(length: int) -> str:
    """Return bytes as the largest unit of which there is one, with a decimal."""
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2)):
        if length >= size:
            return f"{length / size:,.1f} {unit}"
    return f"{length / 1024:,.1f} KiB"


def _existing(directory: Path) -> Path:
    """Return the directory, or the one above that it will be made in."""
    try:
        directory = directory.absolute()
    except OSError as error:
        raise OperatorError(f"{directory} can't be used: the current directory is gone.") from error
    above = (directory, *directory.parents)
    return next(path for path in above if os.path.isdir(path))
