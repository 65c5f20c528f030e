"""Turn a tree of plain values into typed settings, strictly.

An unknown key is an error that names its full path, a wrong value is an error that names the key, and no
error ever contains a value. Text from the environment (`EnvText`) is parsed to the type of its field, and a
key from there is matched ignoring case.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from teamchat.errors import SettingsError
from teamchat.settings.section import Gathering, is_secret

_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_REFERENCES = ({"file"}, {"env"})


class EnvText(str):
    """Text, or a part of a key, that came from the environment."""

    __slots__ = ()


@dataclass(frozen=True)
class Kind:
    """What the annotation of a field says."""

    annotation: Any
    base: Any
    meta: Meta | None
    is_optional: bool
    words: tuple[str, ...] = ()
    """The words that may stand there: in a number's place, or they alone."""

    @classmethod
    def of(cls, annotation: Any) -> Kind:
        """Take an annotation apart into its type, its `Meta` and whether it may be None."""
        base, meta, is_optional, words = annotation, None, False, ()
        if get_origin(base) is Annotated:
            meta = next((found for found in base.__metadata__ if isinstance(found, Meta)), None)
            base = base.__origin__
        if get_origin(base) in (Union, UnionType):
            others = [arg for arg in get_args(base) if arg is not NoneType]
            is_optional = len(others) < len(get_args(base))
            words = tuple(word for arg in others if get_origin(arg) is Literal for word in get_args(arg))
            others = [arg for arg in others if get_origin(arg) is not Literal]
            base = others[0] if len(others) == 1 else base
        elif get_origin(base) is Literal:
            words = get_args(base)
        return cls(annotation, base, meta, is_optional, words)

    @property
    def struct(self) -> type[Struct] | None:
        """The struct, if it is a table of keys."""
        return self.base if isinstance(self.base, type) and issubclass(self.base, Struct) else None

    @property
    def description(self) -> str:
        """What it is for: as its `Meta` says, or the docstring of a table."""
        if self.meta and self.meta.description:
            return self.meta.description
        return (self.struct.__doc__ or "").partition("\n\n")[0] if self.struct else ""

    @property
    def values(self) -> Kind | None:
        """The kind of the values, if it is a table with free keys."""
        return Kind.of(get_args(self.base)[1]) if get_origin(self.base) is dict else None

    @property
    def items(self) -> Kind | None:
        """The kind of the items, if it is a list."""
        return Kind.of(get_args(self.base)[0]) if get_origin(self.base) is list else None

    def phrase(self) -> str:
        """Say what a value must be."""
        if self.struct or get_origin(self.base) is dict:
            return "a table"
        if self.items:
            return f"a list, each item {self.items.phrase()}"
        if get_origin(self.base) is Literal:
            return " or ".join(filter(None, [", ".join(self.words[:-1]), self.words[-1]]))
        if self.words:
            return ", or ".join([Kind.of(self.base).phrase(), *self.words])
        names = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
        return names.get(self.base, "of another type") + self._bounds()

    def _bounds(self) -> str:
        if self.meta is None:
            return ""
        if self.base is str:
            form = f", such as {self.meta.examples[0]}" if self.meta.pattern and self.meta.examples else ""
            return _between(self.meta.min_length, self.meta.max_length, " characters") + form
        return _between(self.meta.ge, self.meta.le)


def _between(least: float | None, most: float | None, unit: str = "") -> str:
    if least is None:
        return "" if most is None else f" of at most {most}{unit}"
    return f" of at least {least}{unit}" if most is None else f" from {least} to {most}{unit}"


def join(path: str, name: str) -> str:
    """Return the full key of `name` in the table `path`."""
    return f"{path}.{name}" if path else name


@dataclass(frozen=True)
class Reader:
    """Reads values into types; `environ` is where ``{env = "NAME"}`` looks."""

    environ: Mapping[str, str]

    def read(self, value: Any, annotation: Any, key: str) -> Any:
        """Return `value` as `annotation` wants it, or raise `SettingsError` naming `key`."""
        kind = Kind.of(annotation)
        if value is None and kind.is_optional:
            return None
        if is_secret(kind.meta) and isinstance(value, dict):
            return self._resolve(value, key)
        if isinstance(value, EnvText):
            value = _parse(value, kind, key)
        if kind.struct:
            return self.table(value, kind.struct, key)
        if kind.values and kind.values.struct:
            self._require(value, dict, kind, key)
            return {str(k): self.read(v, kind.values.annotation, join(key, k)) for k, v in value.items()}
        if kind.items and kind.items.struct:
            self._require(value, list, kind, key)
            return [self.read(v, kind.items.annotation, f"{key}[{n}]") for n, v in enumerate(value)]
        return _leaf(value, kind, key)

    def table(self, value: Any, struct: type[Struct], key: str) -> Any:
        """Return a table of known keys as `struct`."""
        self._require(value, dict, Kind.of(struct), key)
        gathers = issubclass(struct, Gathering)
        fields = {
            found.encode_name: found
            for found in msgspec.structs.fields(struct)
            if not (gathers and found.name == "options")
        }
        given: dict[str, Any] = {}
        options: dict[str, Any] = {}
        for name, inner in value.items():
            known = _match(name, fields)
            if known is not None:
                given[fields[known].name] = self.read(inner, fields[known].type, join(key, known))
            elif gathers:
                options[name] = self._resolve_inside(inner, join(key, name))
            else:
                raise SettingsError(
                    f"{join(key, name)} is not a key of the configuration.{_guess(name, fields)}"
                )
        for name, found in fields.items():
            if found.required and found.name not in given:
                raise SettingsError(f"{join(key, name)} is missing.")
        return _build(struct, given | ({"options": options} if gathers else {}), key)

    def _require(self, value: Any, kind: type, wanted: Kind, key: str) -> None:
        if not isinstance(value, kind):
            raise SettingsError(f"{key or 'The configuration'} must be {wanted.phrase()}.")

    def _resolve(self, value: dict[str, Any], key: str) -> str:
        """Return the text a secret's ``{file = …}`` or ``{env = …}`` stands for."""
        if set(value) not in _REFERENCES or not all(isinstance(v, str) for v in value.values()):
            raise SettingsError(f'{key} must be text, {{file = "…"}} or {{env = "…"}}.')
        ((how, where),) = value.items()
        if how == "env":
            if where not in self.environ:
                raise SettingsError(f"{key}.env names an environment variable that is not set.")
            return self.environ[where]
        try:
            return Path(where).read_text("utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"{key}.file names a file that can't be read ({type(error).__name__})."
            ) from None

    def _resolve_inside(self, value: Any, key: str) -> Any:
        """Resolve references wherever they stand in a backend's options."""
        if isinstance(value, list):
            return [self._resolve_inside(inner, f"{key}[{n}]") for n, inner in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if set(value) in _REFERENCES:
            return EnvText(self._resolve(value, key))
        return {name: self._resolve_inside(inner, join(key, name)) for name, inner in value.items()}


def _match(name: str, known: Iterable[str]) -> str | None:
    """Find the key that `name` means; only what came from the environment may differ in case."""
    if isinstance(name, EnvText):
        return next((each for each in known if each.casefold() == name.casefold()), None)
    return name if name in known else None


def _guess(name: str, known: Iterable[str]) -> str:
    plain = {_plain(each): each for each in known}
    close = difflib.get_close_matches(_plain(name), plain, n=1)
    return f" Did you mean {plain[close[0]]}?" if close else ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _parse(text: EnvText, kind: Kind, key: str) -> Any:
    """Parse text from the environment to what its field holds."""
    if kind.struct or kind.items or get_origin(kind.base) is dict:
        return _parse_structure(text, kind, key)
    if kind.base is bool and text.strip().casefold() in _TRUE | _FALSE:
        return text.strip().casefold() in _TRUE
    if _is_whole(kind) and _WHOLE_NUMBER.match(text.strip()):
        return int(text)
    if kind.base is float:
        try:
            return float(text)
        except ValueError:
            return str(text)
    return str(text)


def _is_whole(kind: Kind) -> bool:
    return kind.base is int or bool(kind.words and Kind.of(kind.base).base is int)


def _parse_structure(text: EnvText, kind: Kind, key: str) -> Any:
    """Parse JSON, or a list of texts that is separated by commas."""
    if kind.items and not kind.items.struct and not text.lstrip().startswith("["):
        return [EnvText(part.strip()) for part in text.split(",") if part.strip()]
    try:
        return msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise SettingsError(f"{key} must be {kind.phrase()}, written as JSON.") from None


def _leaf(value: Any, kind: Kind, key: str) -> Any:
    if kind.items and isinstance(value, list):
        items = kind.items
        value = [_parse(v, items, key) if isinstance(v, EnvText) else v for v in value]
    try:
        return msgspec.convert(value, kind.annotation, strict=True)
    except msgspec.ValidationError:
        raise SettingsError(f"{key} must be {kind.phrase()}.") from None


def _build(struct: type[Struct], given: dict[str, Any], key: str) -> Any:
    try:
        return struct(**given)
    except (TypeError, ValueError):
        raise SettingsError(f"{key or 'The configuration'} holds keys that don't go together.") from None
