"""Taking a capability that a plugin offers: its options, its folder for the web client, and its parts.

If anything is wrong with it, the error names the plugin, before anything is served.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import msgspec

from teamchat.capabilities import (
    Capability,
    Changes,
    DraftFields,
    MessageFields,
    Options,
    Parts,
    Taken,
    UserFields,
)
from teamchat.errors import DeclarationError, OperatorError
from teamchat.plugins.declared import is_plain, wrong_about
from teamchat.plugins.plugin import Plugin, raised
from teamchat.settings import PluginsSettings, Settings, plugin_options
from teamchat.storage.capability_tables import CapabilityTables, check

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat

_NAME = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9-]+)*")
_MOST_NAME = 40
_LISTS = ("needs", "tables", "events", "checks")
_LISTED_PARTS = ("routes", "jobs", "services", "identity_providers")
_PARTS: Mapping[str, type] = {
    "changes": Changes,
    "message_fields": MessageFields,
    "draft_fields": DraftFields,
    "user_fields": UserFields,
}


def taken(
    offer: Any,
    plugin: Plugin,
    settings: PluginsSettings,
    brought: list[tuple[Any, Plugin]],
    whole: Settings | None = None,
) -> Taken | None:
    """Return a capability as it is taken, or None if the configuration turns it off.

    What its parts bring is noted in `brought`, with the plugin.  `whole` are all settings of the server that
    is to offer it; without them it is not asked whether it can work with them.

    Raises a `PluginError` for an offer that can't be taken, `SettingsError` for a wrong key in its table.
    """
    if (wrong := _wrong_about(offer)) is not None:
        raise plugin.failure(wrong)
    options = plugin_options(settings, plugin.name, offer.options)
    if not options.enabled or not _is_possible(offer, plugin, whole, options):
        return None

    def make(app: Teamchat) -> Parts:
        parts = _parts(offer, plugin, app, options)
        brought.extend((each, plugin) for each in (*parts.routes, *parts.services))
        return parts

    return Taken(offer, make, plugin.label, _tables(offer, plugin), _folder(offer, plugin), options)


def _is_possible(offer: Capability, plugin: Plugin, whole: Settings | None, options: Options) -> bool:
    if offer.is_possible is None or whole is None:
        return True
    try:
        return bool(offer.is_possible(whole, options))
    except OperatorError:
        raise
    except Exception as error:
        raise plugin.failure(f"is_possible of {offer.name} {raised(error)}.") from error


def _wrong_about(offer: Any) -> str | None:
    if not isinstance(offer, Capability):
        return "capabilities must return a list of Capability."
    if not _NAME.fullmatch(offer.name) or len(offer.name) > _MOST_NAME:
        return (
            f'the name of its capability "{offer.name}" is not of small letters, digits, "-" and ".", '
            f"{_MOST_NAME} at most."
        )
    if not isinstance(offer.version, int) or offer.version < 1:
        return f"the version of its capability {offer.name} is not a whole number from 1 on."
    if not (isinstance(offer.options, type) and issubclass(offer.options, Options)):
        return f"the options of its capability {offer.name} are no subclass of teamchat.Options."
    if unlisted := [name for name in _LISTS if not _is_list(getattr(offer, name))]:
        return f"the {unlisted[0]} of its capability {offer.name} must be a list."
    return None


def _wrong_part(parts: Parts) -> str | None:
    """Say what of the parts would fail only once it is used, or return None."""
    for name in _LISTED_PARTS:
        if not _is_list(getattr(parts, name)):
            return f"{name} must be a list"
    for name in ("limits", "message_tests"):
        if not isinstance(getattr(parts, name), Mapping):
            return f"{name} must be a dict"
    for name, kind in _PARTS.items():
        part = getattr(parts, name)
        if part is not None and not isinstance(part, kind):
            return f"{name} must be an object of {kind.__name__}"
    if any(map(is_plain, parts.jobs)):
        return "jobs must be async functions"
    for service in parts.services:
        if (wrong := wrong_about("services", service)) is not None:
            return f"services has one {wrong}"
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _parts(offer: Capability, plugin: Plugin, app: Teamchat, options: Options) -> Parts:
    """Ask for the parts of a capability, so that whatever goes wrong has a name."""
    try:
        parts = offer.parts(app, options)
    except OperatorError:
        raise
    except Exception as error:
        raise plugin.failure(f"parts of {offer.name} {raised(error)}.") from error
    if not isinstance(parts, Parts):
        kind = type(parts).__name__
        raise plugin.failure(f"parts of {offer.name} returned {kind}; it must return teamchat.Parts.")
    if (wrong := _wrong_part(parts)) is not None:
        raise plugin.failure(f"what parts of {offer.name} returned can't be used: {wrong}.")
    if "version" in parts.limits or not all(type(limit) is int for limit in parts.limits.values()):
        raise plugin.failure(f"the limits of {offer.name} must be whole numbers, none called version.")
    return parts


def _tables(offer: Capability, plugin: Plugin) -> CapabilityTables | None:
    if not offer.tables:
        return None
    try:
        check(offer.name, offer.tables)
    except DeclarationError as error:
        raise plugin.failure(f"it declares something wrong: {error}.") from error
    return CapabilityTables(offer.name, offer.tables, plugin.described, offer.checks)


def _folder(offer: Capability, plugin: Plugin) -> Traversable | None:
    if offer.client is None:
        return None
    folder = files(plugin.package).joinpath(offer.client)
    if not folder.joinpath("main.js").is_file():
        raise plugin.failure(f"the folder {offer.client} of {offer.name} has no file main.js.")
    strings = folder.joinpath("strings")
    for table in strings.iterdir() if strings.is_dir() else ():
        if table.name.endswith(".json") and not _are_words(table.read_bytes()):
            raise plugin.failure(
                f"{offer.client}/strings/{table.name} of {offer.name} is no JSON object of words, "
                'each of which is a text or {"one": …, "other": …}.'
            )
    return folder


def _are_words(content: bytes) -> bool:
    try:
        msgspec.json.decode(content, type=dict[str, str | dict[str, str]])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
