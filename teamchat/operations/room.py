"""Whether there is room on a disk for what is about to be written.

Only what can't possibly find room is refused: what a database or a file system adds is not counted.
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
                f"{in_gib(needed[disk])} GiB have to be written below {directory}, and "
                f"{in_gib(free)} GiB are free there. Make room first. Nothing was changed."
            )


def bytes_in(directory: Path) -> int:
    """Return how many bytes the files of a directory have, 0 if it is not there."""
    if not directory.is_dir():
        return 0
    with os.scandir(directory) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())


def in_gib(length: int) -> str:
    """Return bytes as gibibytes with a decimal."""
    return f"{length / 1024**3:,.1f}"


def _existing(directory: Path) -> Path:
    """Return the directory, or the one above that it will be made in."""
    return next(path for path in (directory.absolute(), *directory.absolute().parents) if path.is_dir())
