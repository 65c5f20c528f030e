"""Configurations written for a test, and what must never be told of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from teamchat.errors import SettingsError
from teamchat.settings import Settings, load
from teamchat.settings.reading import Kind

SENTINEL = "s3ntinel-value-that-must-not-be-told"
SECRET = "x" * 16 + SENTINEL


def written(directory: Path, text: str, name: str = "teamchat.toml") -> Path:
    file = directory / name
    file.write_text(text)
    return file


def refused(text: str, tmp_path: Path, environ: dict[str, str] | None = None) -> str:
    """Return the sentence with which a configuration is refused; it never holds the sentinel."""
    with pytest.raises(SettingsError) as caught:
        load(written(tmp_path, text), environ)
    sentence = str(caught.value)
    assert SENTINEL not in sentence
    assert "\n" not in sentence
    assert caught.value.__cause__ is None
    return sentence


def keys(kind: type[Struct], path: str = "") -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(kind):
        found = Kind.of(field.type)
        name = f"{path}.{field.encode_name}".lstrip(".")
        if found.struct:
            yield from keys(found.struct, name)
        elif field.name != "options":
            yield name, field


def at(path: Path) -> Settings:
    return load(None, {"TEAMCHAT_STORAGE__PATH": str(path)})
