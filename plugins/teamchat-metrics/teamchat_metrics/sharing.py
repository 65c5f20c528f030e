"""Several processes that serve as one (``server.workers``): who is asked tells what all of them measured.

Each process writes its metrics to a file every few seconds, and whoever is asked reads
the others' files and says of every value which process it is of; a process that has ended is left out.  Only
the processes of one supervisor share a directory, and nobody waits for anybody.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from teamchat.settings import Settings

LABEL = "worker"
_HEAD = "\n# HELP "
_UNSAFE = re.compile(r"[^A-Za-z0-9.]")


class Shared:
    """The directory of the processes that serve together; each has a file named by its process id."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._own = str(os.getpid())

    @property
    def labels(self) -> dict[str, str]:
        """What says of a value that it is this process's."""
        return {LABEL: self._own}

    @classmethod
    def of(cls, settings: Settings) -> Shared | None:
        """Return the directory of this process and its siblings; None if it serves by itself."""
        if settings.server.workers == 1:
            return None
        machine = _UNSAFE.sub("_", socket.gethostname())
        return cls(Path(settings.storage.path) / "metrics" / f"{machine}-{os.getppid()}")

    async def write(self, text: str) -> None:
        """Let the others read what this process measured."""
        await trio.to_thread.run_sync(self._write, text)

    async def together(self, text: str) -> str:
        """Return what this process measured, and what the others last wrote, told apart by a label."""
        others = await trio.to_thread.run_sync(self._others)
        return _merged([text, *others])

    def clear(self) -> None:
        """Remove what processes left that have ended, of this supervisor and of earlier ones here."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        machine = self._directory.name.rpartition("-")[0]
        for directory in self._directory.parent.glob(f"{machine}-*"):
            if not _is_alive(directory.name.rpartition("-")[2]):
                shutil.rmtree(directory, ignore_errors=True)
        self._others()

    def remove(self) -> None:
        """Take back what this process wrote."""
        self._path(self._own).unlink(missing_ok=True)

    def _write(self, text: str) -> None:
        temporary = self._directory / f".{self._own}"
        temporary.write_text(text)
        temporary.replace(self._path(self._own))

    def _others(self) -> list[str]:
        found = []
        for path in sorted(self._directory.glob("*.prom")):
            if path.stem == self._own:
                continue
            if not _is_alive(path.stem):
                path.unlink(missing_ok=True)
                continue
            with suppress(FileNotFoundError):  # It has just ended, and taken it back.
                found.append(path.read_text())
        return found

    def _path(self, process: str) -> Path:
        return self._directory / f"{process}.prom"


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _merged(texts: Iterable[str]) -> str:
    """Put the lines of each metric together, as the format wants them. Nothing is parsed: that takes long."""
    families: dict[str, list[str]] = {}
    for text in texts:
        for part in f"\n{text}".split(_HEAD)[1:]:
            described, _, typed = part.partition("\n")
            kind, _, samples = typed.partition("\n")
            families.setdefault(f"{_HEAD[1:]}{described}\n{kind}\n", []).append(samples)
    return "".join(head + "".join(map(_ended, samples)) for head, samples in families.items())


def _ended(lines: str) -> str:
    return f"{lines}\n" if lines and not lines.endswith("\n") else lines
