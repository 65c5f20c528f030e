"""The commented configuration file that ``teamchat init`` writes, made from the keys themselves.

As written, the file loads to the defaults, and it contains every key. Explanations begin with ``# ``; a
setting that can be uncommented begins with ``#`` and no space.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from teamchat.settings.keys import Settings
from teamchat.settings.reading import Kind, join

_HEAD = """\
# The configuration of teamchat. What stands here commented out is the default or an example.
# Any key can also come from the environment: auth.authMode is TEAMCHAT_AUTH__AUTHMODE.
# A secret is text, or {file = "/run/secrets/name"}, or {env = "NAME"}.
"""
_NO_PLUGINS: Mapping[str, type[Struct]] = {}


def sample(plugins: Mapping[str, type[Struct]] = _NO_PLUGINS) -> str:
    """Return a commented ``teamchat.toml`` with every key; `plugins` have tables of their own, by name."""
    lines = [*_table(Settings, "", off="")]
    for name, options in plugins.items():
        lines += ["", f"# What the plugin {name} brings.", f"#[{name}]"]
        lines += [line for line in _table(options, name, off="#") if line != "# "]
    return _HEAD + "\n".join(lines) + "\n"


def _table(struct: type[Struct], path: str, *, off: str) -> Iterator[str]:
    """Yield the lines of a table: its own keys first, as TOML wants it, then the tables inside."""
    inner: list[tuple[FieldInfo, Kind]] = []
    for field in msgspec.structs.fields(struct):
        kind = Kind.of(field.type)
        if kind.struct or (kind.values and kind.values.struct) or (kind.items and kind.items.struct):
            inner.append((field, kind))
        elif field.name != "options":
            yield f"# {kind.description}"
            yield f"#{field.encode_name} = {_literal(_example(field, kind))}"
    for field, kind in inner:
        yield from _inner(kind, join(path, field.encode_name), off)


def _inner(kind: Kind, path: str, off: str) -> Iterator[str]:
    """Yield a table within a table; the heading of one that is absent by default is commented out."""
    off = "#" if off or kind.is_optional or kind.values or kind.items else ""
    yield ""
    yield f"# {kind.description}"
    if kind.items and kind.items.struct:
        yield f"{off}[[{path}]]"
        yield from _table(kind.items.struct, path, off=off)
    elif kind.values and kind.values.struct:
        name = kind.meta.examples[0] if kind.meta and kind.meta.examples else "name"
        yield f"{off}[{path}.{name}]"
        yield from _table(kind.values.struct, join(path, name), off=off)
    elif kind.struct:
        if _has_keys(kind.struct):
            yield f"{off}[{path}]"
        yield from _table(kind.struct, path, off=off)


def _has_keys(struct: type[Struct]) -> bool:
    """Return whether a table has keys of its own, as against tables only."""
    kinds = [Kind.of(field.type) for field in msgspec.structs.fields(struct)]
    return any(not (k.struct or k.values or (k.items and k.items.struct)) for k in kinds)


def _example(field: FieldInfo, kind: Kind) -> Any:
    if kind.meta and kind.meta.examples:
        return kind.meta.examples[0]
    return field.default if field.default is not NODEFAULT else field.default_factory()


def _literal(value: Any) -> str:
    """Write a value as TOML; JSON's text, numbers, booleans and lists are TOML too."""
    if isinstance(value, dict):
        inner = ", ".join(f"{name} = {_literal(each)}" for name, each in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value, ensure_ascii=False)
