"""Registering the blueprints of plugins: a route or a name that somebody already has is refused.

Otherwise one of two equal routes would win, and the other would silently be dead.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from teamchat.errors import DeclarationError, PluginError
from teamchat.web.endpoints import Section
from teamchat.web.routing import Route

if TYPE_CHECKING:
    from quart import Blueprint

    from teamchat.interfaces import Routes

_OWN = "teamchat itself"


class Bringers(Protocol):
    """Knows who brought a blueprint; `teamchat.plugins.Plugins` does."""

    def failure_of(self, offer: Any, cause: str) -> PluginError:
        """Return the error that names the plugin which brought `offer`."""

    def bringer_of(self, offer: Any) -> str:
        """Return what the plugin which brought `offer` is called."""

    def label_of(self, offer: Any) -> str:
        """Return what lines of the log call that plugin."""


class Registering(Protocol):
    """What sections and blueprints are registered on."""

    routes: list[Route]

    @property
    def names(self) -> set[str]:
        """The names of all sections and blueprints."""

    def register_section(self, section: Section) -> None:
        """Take up a section's endpoints."""

    def register_plain(self, blueprint: Blueprint) -> None:
        """Take up a plugin's plain blueprint."""

    def note_plugin(self, route: Route, plugin: str) -> None:
        """Remember which plugin brought a route."""


class Nobody:
    """Stands for the one plugin that a test brings blueprints of."""

    def failure_of(self, offer: Any, cause: str) -> PluginError:  # noqa: ARG002
        """Return an error that names no plugin."""
        return PluginError(f"The plugin failed: {cause}")

    def bringer_of(self, offer: Any) -> str:  # noqa: ARG002
        """Return a name for it."""
        return "the plugin"

    def label_of(self, offer: Any) -> str:  # noqa: ARG002
        """Return a name for it."""
        return "unknown"


def register(site: Registering, blueprints: Sequence[Routes], bringers: Bringers) -> None:
    """Take up `blueprints` after teamchat's own.

    Raises a `PluginError` that names who brought one that can't be.
    """
    _Registration(site, bringers).take_all(blueprints)


class _Registration:
    """The routes and the names that are taken, and by whom."""

    def __init__(self, site: Registering, bringers: Bringers) -> None:
        self._site = site
        self._bringers = bringers
        self._names = dict.fromkeys(site.names, _OWN)
        self._taken = [(route, _OWN) for route in site.routes]

    def take_all(self, blueprints: Sequence[Routes]) -> None:
        for blueprint in blueprints:
            cause = self._cause_against(blueprint)
            if cause is not None:
                raise self._bringers.failure_of(blueprint, cause)

    def _cause_against(self, blueprint: Any) -> str | None:
        """Register a blueprint; return why it can't be, or None if all is well."""
        if not isinstance(blueprint, Section) and not _is_plain(blueprint):
            kind = f"{type(blueprint).__module__}.{type(blueprint).__qualname__}"
            return f"routes must return a list of teamchat.web.Section or quart.Blueprint, not {kind}."
        owner = self._bringers.bringer_of(blueprint)
        if blueprint.name in self._names:
            return (
                f'its blueprint "{blueprint.name}" has a name that belongs to {self._names[blueprint.name]}.'
            )
        before = len(self._site.routes)
        try:
            if isinstance(blueprint, Section):
                self._site.register_section(blueprint)
            else:
                self._site.register_plain(blueprint)
        except DeclarationError as error:
            return f"{error}."
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {place.filename}:{place.lineno}"
            return f'its blueprint "{blueprint.name}" raised {what} when it was registered.'
        self._names |= dict.fromkeys(self._site.names - set(self._names), owner)
        routes = self._site.routes[before:]
        for route in routes:
            self._site.note_plugin(route, self._bringers.label_of(blueprint))
        return next((cause for route in routes for cause in self._conflicts(route, owner)), None)

    def _conflicts(self, route: Route, owner: str) -> Iterator[str]:
        """Yield what is wrong about a new route, and count it as taken."""
        for taken, by in self._taken:
            if _clash(route, taken, are_of_one=owner == by):
                who = "this plugin too" if by == owner else by
                yield _sentence(route, taken, min(route.asked & taken.asked), who)
        self._taken.append((route, owner))


def _is_plain(offer: Any) -> bool:
    """Return whether something is a blueprint of Quart's; where Quart was not loaded, nothing is."""
    quart = sys.modules.get("quart")
    return quart is not None and isinstance(offer, quart.Blueprint)


def _clash(one: Route, other: Route, *, are_of_one: bool) -> bool:
    """Return whether one of two would be dead; a plugin may have special cases of its own addresses."""
    if are_of_one:
        return one.shape == other.shape and bool(one.asked & other.asked)
    if one.shape.takes_whatever_is_left or other.shape.takes_whatever_is_left:
        return one.shape.takes_whatever_is_left and other.shape.takes_whatever_is_left and one.meets(other)
    return one.meets(other)


def _sentence(route: Route, taken: Route, method: str, by: str) -> str:
    if route.path == taken.path:
        return f"its route {method} {route.path} belongs to {by}."
    return (
        f"its route {method} {route.path} answers the same requests as {method} {taken.path}, "
        f"which belongs to {by}."
    )
