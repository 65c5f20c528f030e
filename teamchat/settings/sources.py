"""Where settings come from: flags over environment over file over defaults.

Each source first becomes a plain tree, the trees are laid over one another, and one strict reader turns the
result into types; so every source has the same names and the same errors. Environment variables count only if
they have two underscores (``TEAMCHAT_AUTH__AUTHMODE``), which leaves alone what container platforms set for a
service named teamchat (``TEAMCHAT_PORT``).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from teamchat.errors import SettingsError
from teamchat.interfaces import Backend
from teamchat.observability.logs import get_logger
from teamchat.settings.checks import check
from teamchat.settings.keys import BackendSection, PluginsSettings, Settings
from teamchat.settings.reading import EnvText, Reader
from teamchat.settings.unused import PREFIX, unused

_log = get_logger(__name__)
_SEPARATOR = "__"
_POSITION = re.compile(r"\(at [a-z0-9 ,]+\)\Z")
_BYTE = re.compile(r"\(byte ([0-9]+)\)\Z")
Tree = dict[str, Any]
T = TypeVar("T", bound=Struct)


def load(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    initial_user_password: str | None = None,
) -> Settings:
    """Return the settings of a file, an environment and flags. Raises `SettingsError` naming the key.

    The log warns of environment variables that look like keys and are none.
    """
    environ = environ or {}
    for sentence in unused(environ):
        _log.warning(sentence)
    flags = _flags(host, port, initial_user_password)
    tree = _of_plugins(_over(_over(_read_file(file), _environment(environ)), flags))
    settings: Settings = Reader(environ).read(tree, Settings, "")
    check(settings)
    return settings


def load_plugins_settings(
    file: Path | None = None, environ: Mapping[str, str] | None = None
) -> PluginsSettings:
    """Return ``[plugins]`` alone, so that plugins can be listed while the rest is wrong."""
    environ = environ or {}
    tree = _over(_read_file(file), _environment(environ))
    section = {str(name).casefold(): inner for name, inner in tree.items()}.get("plugins", {})
    found: PluginsSettings = Reader(environ).read(section, PluginsSettings, "plugins")
    return found


def backend_options(section: BackendSection, backend: Backend[Any]) -> Struct:
    """Return the options of the chosen backend, read strictly from its section.

    What the section itself has is given to a backend whose options have a key of that name.
    """
    known = {field.encode_name for field in msgspec.structs.fields(backend.options)}
    own = {
        field.encode_name: value
        for field in msgspec.structs.fields(section)
        if field.encode_name in known and (value := getattr(section, field.name)) is not None
    }
    options: Struct = Reader({}).table(own | section.options, backend.options, section.key)
    return options


def plugin_options(section: PluginsSettings, name: str, kind: type[T]) -> T:
    """Return what ``[plugins.<name>]`` says, read strictly. Raises `SettingsError` naming the key."""
    given: Any = next((table for key, table in section.options.items() if plugin_name(key) == name), {})
    options: T = Reader({}).table(given, kind, f"plugins.{name}")
    return options


def plugin_name(key: str) -> str:
    """Return the plugin that a key in ``[plugins]`` means: a variable's name can't hold a dash."""
    return key.replace("_", "-") if isinstance(key, EnvText) else key


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that set keys; those that secrets name stay."""
    return {
        name: value
        for name, value in environ.items()
        if not (name.upper().startswith(PREFIX) and _SEPARATOR in name) and name != "INITIAL_USER_PASSWORD"
    }


def _read_file(file: Path | None) -> Tree:
    """Return what a TOML or JSON file holds."""
    if file is None:
        return {}
    if file.suffix not in {".toml", ".json"}:
        raise SettingsError(f"{file}: a configuration file must end in .toml or .json.")
    try:
        text = file.read_bytes().decode("utf-8-sig")
        tree = tomllib.loads(text) if file.suffix == ".toml" else _json(text)
    except OSError as error:
        raise SettingsError(f"{file} can't be read ({type(error).__name__}).") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid {file.suffix[1:].upper()}{_where(error)}.") from None
    if not isinstance(tree, dict):
        raise SettingsError(f"{file} must hold a table of settings.")
    return tree


def _json(text: str) -> Any:
    """Return what JSON says; a key that is given twice is a mistake, as it is in TOML."""
    data = text.encode()
    try:
        tree = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        found = _BYTE.search(str(error))
        before = data[: int(found[1])] if found else data
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise ValueError(f"(at line {line}, column {column})") from None
    json.loads(text, object_pairs_hook=_refuse_doubles)
    return tree


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(f'The configuration has "{doubled}" twice in one place. Give it once.')


def _where(error: Exception) -> str:
    """Return the position in an error, and nothing of the text there."""
    found = _POSITION.search(str(error))
    position = f" {found.group()}" if found else ""
    if str(error).startswith("Cannot declare"):
        return f"{position}: that section is there already, so the keys belong in it"
    return position


def _environment(environ: Mapping[str, str]) -> Tree:
    """Return what environment variables say, as a tree with keys in lower case."""
    tree: Tree = {}
    password = environ.get("INITIAL_USER_PASSWORD")
    if password:
        _put(tree, ["chat", "initialuser", "password"], password, "INITIAL_USER_PASSWORD")
    for name in sorted(environ):
        if name.upper().startswith(PREFIX) and _SEPARATOR in name:
            parts = name[len(PREFIX) :].lower().split(_SEPARATOR)
            _put(tree, parts, environ[name], name)
    return tree


def _put(tree: Tree, parts: list[str], text: str, name: str) -> None:
    """Put a text into the tree at the key that a variable names."""
    if not all(parts):
        raise SettingsError(f"The environment variable {name} does not name a key.")
    for part in parts[:-1]:
        tree = tree.setdefault(EnvText(part), {})
        if not isinstance(tree, dict):
            raise SettingsError(f"The environment variable {name} and another one name the same key.")
    if isinstance(tree.get(parts[-1]), dict):
        raise SettingsError(f"The environment variable {name} and another one name the same key.")
    tree[EnvText(parts[-1])] = EnvText(text)


def _flags(host: str | None, port: int | None, password: str | None) -> Tree:
    server = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    tree: Tree = {"server": server} if server else {}
    return tree if password is None else tree | {"chat": {"initialUser": {"password": password}}}


def _over(lower: Tree, upper: Tree) -> Tree:
    """Lay one tree over another; a key from the environment covers one that differs in case alone."""
    merged = dict(lower)
    for name, value in upper.items():
        key = _same_key(merged, name)
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and set(value) not in ({"file"}, {"env"}):
            merged[key] = _over(old, value)
        else:
            merged[key] = value
    return merged


def _of_plugins(tree: Tree) -> Tree:
    """Put a table that is called after an installed plugin where its keys are read: in ``[plugins]``.

    Raises `SettingsError` if it stands in both places.
    """
    own = {field.encode_name.casefold() for field in msgspec.structs.fields(Settings)}
    others = [name for name in tree if name.casefold() not in own and isinstance(tree[name], dict)]
    installed = {entry.name for entry in metadata.entry_points(group="teamchat")} if others else set()
    for name in others:
        if plugin_name(name) not in installed:
            continue
        key = _same_key(tree, "plugins")
        plugins = tree.get(key, {})
        if not isinstance(plugins, dict):
            return tree
        if any(plugin_name(one) == plugin_name(name) for one in plugins):
            raise SettingsError(f"{name} and plugins.{name} are the same table. Give one of them.")
        tree = {one: table for one, table in tree.items() if one != name} | {
            key: plugins | {name: tree[name]}
        }
    return tree


def _same_key(tree: Tree, name: str) -> str:
    for known in tree:
        if known == name or (EnvText in (type(known), type(name)) and known.casefold() == name.casefold()):
            return known
    return name
