"""Files that are durable before they are acknowledged, even in a power cut, and private to their owner.

Everything here blocks, so call it in a thread. Failures are raised as `OSError`.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

TEMPORARY = ".writing-"
"""How the name of a file begins that `write_file` has not finished, or never will."""


def make_directory(path: Path) -> None:
    """Make a directory, unless it is there, and let nobody else into it."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)


def write_file(path: Path, data: bytes) -> None:
    """Put a file in its place once all of its bytes are on the disk; of one that fails nothing is left."""
    temporary = path.with_name(TEMPORARY + secrets.token_hex(16))
    try:
        with open(temporary, "xb", opener=_owner_only) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def remove_file(path: Path) -> None:
    """Remove a file, if it is there."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    sync(path.parent)


def sync(path: Path) -> None:
    """Return once a file's bytes are on the disk, or the names in a directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
