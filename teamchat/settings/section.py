"""The base of every table of keys: frozen, with camelCase keys, and a `repr` without secrets."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Meta, Struct, field


def is_secret(meta: Meta | None) -> bool:
    """Return whether a field is marked as one whose value must not be shown."""
    return bool(meta and meta.extra and meta.extra.get("secret"))


class Section(Struct, frozen=True, kw_only=True, rename="camel"):
    """A table of keys. Its `repr` shows that a secret is set, and never the secret."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        hidden = _hidden_fields(type(self))
        values = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [(name, _Hidden() if name in hidden and value else value) for name, value in values]


class Gathering(Section, frozen=True):
    """A table that gathers the keys it does not know itself, for whoever they belong to."""

    options: dict[str, Any] = field(default_factory=dict)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [
            (name, sorted(value) if name == "options" else value) for name, value in super().__rich_repr__()
        ]


class _Hidden:
    def __repr__(self) -> str:
        return "<hidden>"


def _hidden_fields(kind: type[Struct]) -> set[str]:
    return {
        found.name
        for found in msgspec.structs.fields(kind)
        if any(isinstance(meta, Meta) and is_secret(meta) for meta in getattr(found.type, "__metadata__", ()))
    }
