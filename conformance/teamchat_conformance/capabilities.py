"""What a server announces beyond the core at ``GET /capabilities``, and who has checks for it.

Areas of checks for a capability come from other distributions, by entry points of the group `GROUP`.  Each is
asked for where its capability is announced, and only there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from teamchat_conformance.endpoints import Endpoint, find
from teamchat_conformance.events import BY_NAME, EventType
from teamchat_conformance.expect import Answered
from teamchat_conformance.registry import Area, Check, Registry, load
from teamchat_conformance.verdicts import Miss

GROUP = "teamchat_conformance.areas"
NONE: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


class AreaError(Exception):
    """Checks that are installed can't be used. The message names who brought them."""


@dataclass(frozen=True)
class Announced:
    """The capabilities of a server: each name with its version and its limits."""

    capabilities: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NONE)

    @classmethod
    def told_by(cls, answered: Answered) -> Announced:
        """Read the answer to ``GET /capabilities``; a server that answers anything else announces nothing."""
        try:
            told = answered.json if answered.status == 200 else None
        except Miss:
            told = None
        given = told.get("capabilities") if isinstance(told, dict) else None
        named = given.items() if isinstance(given, dict) else ()
        return cls({name: limits for name, limits in named if is_capability(limits)})

    def version(self, name: str) -> int:
        """Return the version that is announced, or 0."""
        return int(self.capabilities.get(name, {}).get("version", 0))

    def lacks(self, check: Check) -> str:
        """Return why a check is not asked of this server, or an empty text."""
        if not check.capability or self.version(check.capability) >= check.version:
            return ""
        if not self.version(check.capability):
            return f"the server does not announce {check.capability}"
        announced = self.version(check.capability)
        return f"since version {check.version} of {check.capability}, and the server announces {announced}"

    def looked_at(self, registry: Registry) -> list[str]:
        """Return the announced capabilities that there are checks for, each with its version."""
        known = versions_known(registry)
        return [
            f"{name} {min(known[name], self.version(name))}"
            for name in sorted(self.capabilities)
            if name in known
        ]

    def passed_over(self, registry: Registry) -> Iterator[str]:
        """Yield what is announced and there are no checks for."""
        known = versions_known(registry)
        for name in sorted(self.capabilities):
            version = self.version(name)
            if name not in known:
                yield f"{name} {version} (no checks for it are installed)"
            elif version > known[name]:
                yield f"{name} {version} (the checks that are installed know version {known[name]})"


def is_capability(limits: object) -> bool:
    """Return whether this is how a capability is announced: with a whole number above zero as its version."""
    version = limits.get("version") if isinstance(limits, dict) else None
    return isinstance(version, int) and not isinstance(version, bool) and version > 0


def versions_known(registry: Registry) -> dict[str, int]:
    """Return the newest version of each capability that the areas of a registry know."""
    known: dict[str, int] = {}
    for area in registry.areas:
        if area.capability:
            known[area.capability] = max(area.version, known.get(area.capability, 0))
    return known


class Interface:
    """The endpoints, events and fields of the core, and of the areas whose capability is announced."""

    def __init__(self, areas: Iterable[Area] = ()) -> None:
        given = tuple(areas)
        self.endpoints = tuple(one for area in given for one in area.endpoints)
        self.events: Mapping[str, EventType] = {
            **BY_NAME, **{one.name: one for area in given for one in area.events}
        }  # fmt: skip
        self.fields = frozenset(name for area in given for name in area.fields)
        self.find = lru_cache(maxsize=16)(self._find)

    @classmethod
    def of(cls, registry: Registry, announced: Announced) -> Interface:
        """Return the interface of a server that announces this."""
        return cls(area for area in registry.areas if announced.version(area.capability))

    def _find(self, method: str, target: str) -> Endpoint | None:
        """Return the endpoint that a request is for, or None if there is none of the interface's."""
        path = target.partition("?")[0]
        own = sorted(self.endpoints, key=lambda one: len(one.parameters))
        found = next((one for one in own if one.method == method and one.fits(path)), None)
        core = find(method, target)
        if core is not None and (found is None or len(core.parameters) <= len(found.parameters)):
            return core
        return found


def installed() -> list[Area]:
    """Return the areas that other distributions bring. Raises `AreaError`."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        who = f"{entry.name} of {entry.dist.name if entry.dist else entry.value}"
        try:
            area = entry.load()
        except Exception as error:
            raise AreaError(f"The checks {who} can't be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(area, Area) or not area.capability:
            raise AreaError(f"The checks {who} are no Area of a capability.")
        found.append(area)
    return found


def everything() -> Registry:
    """Return the registry of the core and of all areas that are installed. Raises `AreaError`."""
    try:
        return load(installed())
    except ValueError as error:
        raise AreaError(f"Checks that are installed clash with others: {error}") from None
