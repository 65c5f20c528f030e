"""Several processes that serve as one (``server.workers``): who is asked tells what all of them measured.

What must stay true: each process writes its measures to a file every few seconds, and whoever is asked reads
the others' files and says of every value which process it is of; a process that has ended is left out.  Only
the processes of one supervisor share a directory, and nobody waits for anybody.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from teamchat_metrics.exposition import rendered

if TYPE_CHECKING:
    from teamchat.settings import Settings

LABEL = "worker"
_UNSAFE = re.compile(r"[^A-Za-z0-9.]")


class Shared:
    """The directory of the processes that serve together; each has a file named by its process id."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._own = str(os.getpid())

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
        return _merged({self._own: text} | others)

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

    def _others(self) -> dict[str, str]:
        found = {}
        for path in sorted(self._directory.glob("*.prom")):
            if path.stem == self._own:
                continue
            if _is_alive(path.stem):
                found[path.stem] = path.read_text()
            else:
                path.unlink(missing_ok=True)
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


def _merged(texts: dict[str, str]) -> str:
    families: dict[str, Metric] = {}
    for process, text in texts.items():
        for family in text_string_to_metric_families(text):
            known = families.setdefault(family.name, family)
            labelled = list(_labelled(family.samples, process))
            known.samples = labelled if known is family else [*known.samples, *labelled]
    return rendered(families.values())


def _labelled(samples: Iterable[Sample], process: str) -> Iterable[Sample]:
    for sample in samples:
        yield sample._replace(labels={**sample.labels, LABEL: process})
