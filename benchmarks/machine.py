"""The machine a benchmark ran on, and what it needs of it: file descriptors, and a look into ``/proc``."""

from __future__ import annotations

import os
import platform
import resource
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import teamchat

_PACKAGES = ("trio", "quart", "hypercorn", "httptools", "apsw", "msgspec")
_QUIET = 0.5  # load average; above it, something else is at work


def facts() -> dict[str, str | int | float]:
    """Return what figures depend on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory, GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "file system": _file_system(Path(tempfile.gettempdir()).resolve()),
        "python": platform.python_version(),
        "load before": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Return the versions of what is measured."""
    return {"teamchat": teamchat.__version__} | {name: version(name) for name in _PACKAGES}


def is_quiet() -> bool:
    """Whether nothing else seems to be at work."""
    return os.getloadavg()[0] < _QUIET


def family_seconds(pid: int) -> float:
    """Return the processor time of a process and its children, those that have ended too."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            id_, _, rest = stat.read_text().partition(" (")
            numbers = rest.rpartition(") ")[2].split()  # of proc(5): the third is the first here
            if int(id_) == pid:
                ticks += sum(map(int, numbers[11:15]))
            elif int(numbers[1]) == pid:
                ticks += sum(map(int, numbers[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def raise_descriptors() -> int:
    """Let this process, and the servers it starts, open as many files as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def _file_system(path: Path) -> str:
    """Return the kind of file system that holds the path: what a durable write means depends on it."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    kinds = {Path(where): kind for _, where, kind, *_ in mounts}
    return next(kinds[parent] for parent in (path, *path.parents) if parent in kinds)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
