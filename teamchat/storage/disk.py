"""Files that are durable, against a power cut too, before they are acknowledged."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Return once a file's bytes are on the disk, or the names in a directory. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
