"""What capabilities bring to the client: the files of their folders, and the list that tells of them.

A capability's files stand at ``extensions/<name>/`` among the client's own, under the same digest.  They go
out as they were written, for nothing is known of how they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

FOLDER = "extensions/"
LIST = "extensions.json"
ADDED = "manifest.json"
SUFFIXES = frozenset({".css", ".js", ".json", ".png", ".svg", ".webp"})
"""What of a folder is served; everything else stays where it is."""


class Extension(Struct, frozen=True):
    """What a capability's folder has besides ``main.js``: a style sheet or none, and words by language."""

    style: bool
    strings: list[str]


def files_of(folders: Sequence[tuple[str, Traversable]]) -> dict[str, bytes]:
    """Return the files of these capabilities by their paths in the client, the list of them among them."""
    found = {f"{FOLDER}{name}/{path}": body for name, folder in folders for path, body in _files(folder, "")}
    listed = {name: _described(f"{FOLDER}{name}/", found) for name, _ in folders}
    return found | {LIST: msgspec.json.encode(listed)}


def manifest(own: bytes, files: Mapping[str, bytes], folders: Sequence[tuple[str, Traversable]]) -> bytes:
    """Return the manifest with what capabilities add: the members of their ``manifest.json``."""
    found = json.loads(own)
    for name, _ in folders:
        found |= json.loads(files.get(f"{FOLDER}{name}/{ADDED}", b"{}"))
    return json.dumps(found, ensure_ascii=False, indent=2).encode()


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.name.startswith("."):
            continue
        if one.is_dir():
            yield from _files(one, f"{path}{one.name}/")
        elif PurePosixPath(one.name).suffix in SUFFIXES:
            yield f"{path}{one.name}", one.read_bytes()


def _described(folder: str, files: dict[str, bytes]) -> Extension:
    strings = PurePosixPath(folder, "strings")
    paths = [PurePosixPath(name) for name in files]
    words = sorted(path.stem for path in paths if path.parent == strings and path.suffix == ".json")
    return Extension(f"{folder}style.css" in files, words)
