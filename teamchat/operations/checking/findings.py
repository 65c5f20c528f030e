"""What a check finds: how bad it is, what it is about, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class Level(Enum):
    """How bad it is. A warning is for the operator to judge; a problem is to be mended."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(NamedTuple):
    """One line. `remedy` says what to do, and is empty for what is in order."""

    level: Level
    subject: str
    sentence: str
    remedy: str = ""


Say = Callable[[Finding], object]


def ok(subject: str, sentence: str) -> Finding:
    """Return what is in order."""
    return Finding(Level.OK, subject, sentence)


def warning(subject: str, sentence: str, remedy: str) -> Finding:
    """Return what the operator should know."""
    return Finding(Level.WARNING, subject, sentence, remedy)


def problem(subject: str, sentence: str, remedy: str) -> Finding:
    """Return what has to be mended."""
    return Finding(Level.PROBLEM, subject, sentence, remedy)
