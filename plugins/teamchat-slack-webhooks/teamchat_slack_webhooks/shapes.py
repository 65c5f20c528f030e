"""Reads what may be anything: fields of the type that they must have, and nothing of what has another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def text_in(part: Any, name: str) -> str:
    """Return a field that is a text, or a number; any other is as if it were missing."""
    value = part.get(name) if isinstance(part, dict) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def list_in(part: Any, name: str) -> list[Any]:
    """Return a field that is a list; any other is an empty one."""
    value = part.get(name) if isinstance(part, dict) else None
    return value if isinstance(value, list) else []


def objects_in(part: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list."""
    return (each for each in list_in(part, name) if isinstance(each, dict))


def object_in(part: Any, name: str) -> dict[str, Any]:
    """Return a field that is an object; any other is an empty one."""
    value = part.get(name) if isinstance(part, dict) else None
    return value if isinstance(value, dict) else {}


def lines(*parts: str) -> str:
    """Return what says something of these, each from a new line on."""
    return "\n".join(part for part in (each.strip("\n") for each in parts) if part.strip())
