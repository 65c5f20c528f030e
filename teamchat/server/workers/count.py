"""How many processes ``server.workers = "auto"`` means: one for each processor that this one may use.

A container may be allowed less than the machine has, by a set of processors or by a share of their time
(``cpu.max``, Linux's "Control Group v2", section "CPU Interface Files"); both are considered.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

_SHARE = Path("/sys/fs/cgroup/cpu.max")


def how_many(setting: int | Literal["auto"], share: Path = _SHARE) -> int:
    """Return the number of workers; `share` is the file with the container's share of time."""
    if setting != "auto":
        return setting
    return max(1, min(_usable(), _allowed(share)))


def _usable() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _allowed(share: Path) -> int:
    """Return how many processors the share comes to, rounded up; very many if there is no limit."""
    with suppress(OSError, ValueError):
        quota, period = share.read_text().split()
        return math.ceil(int(quota) / int(period))
    return 1_000_000
