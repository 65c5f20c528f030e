"""How a broken implementation tells which tests of its contract must find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def found_by(**tests: str) -> Callable[[type[Any]], type[Any]]:
    """Mark a class in ``broken/``: these tests must fail, each with these words in what it says."""

    def mark(broken: type[Any]) -> type[Any]:
        broken.found_by = tests
        return broken

    return mark
