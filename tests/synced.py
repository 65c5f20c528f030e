"""In which order something is made durable."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest


def noted_steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by what is synced (``file``, ``directory``) and by each ``rename``."""
    steps: list[str] = []
    sync, rename = os.fsync, Path.rename

    def noting_sync(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def noting_rename(path: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(Path, "rename", noting_rename)
    return steps
