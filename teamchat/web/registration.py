"""Taking up the blueprints that plugins bring: a route or a name that is somebody's already is refused.

Whichever of two routes would win, the other one would be dead without a word.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from quart import Blueprint
from werkzeug.routing import Rule

from teamchat.errors import DeclarationError, PluginError
from teamchat.web.endpoints import Section
from teamchat.web.rules import Shape

if TYPE_CHECKING:
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

    blueprints: dict[str, Any]
    url_map: Any

    def register_section(self, section: Section) -> None:
        """Take up a section's endpoints."""

    def register_plain(self, blueprint: Blueprint) -> None:
        """Take up a plugin's plain blueprint."""

    def note_plugin(self, rule: Rule, plugin: str) -> None:
        """Remember which plugin brought a rule."""


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
        self._names = dict.fromkeys(site.blueprints, _OWN)
        self._taken = [(Shape.of(rule), rule, _OWN) for rule in site.url_map.iter_rules()]

    def take_all(self, blueprints: Sequence[Routes]) -> None:
        for blueprint in blueprints:
            cause = self._cause_against(blueprint)
            if cause is not None:
                raise self._bringers.failure_of(blueprint, cause)

    def _cause_against(self, blueprint: Any) -> str | None:
        """Register a blueprint; return why it can't be, or None if all is well."""
        if not isinstance(blueprint, Section | Blueprint):
            kind = f"{type(blueprint).__module__}.{type(blueprint).__qualname__}"
            return f"routes must return a list of teamchat.web.Section or quart.Blueprint, not {kind}."
        owner = self._bringers.bringer_of(blueprint)
        if blueprint.name in self._names:
            return (
                f'its blueprint "{blueprint.name}" has a name that belongs to {self._names[blueprint.name]}.'
            )
        before = set(map(id, self._site.url_map.iter_rules()))
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
        self._names |= dict.fromkeys(set(self._site.blueprints) - set(self._names), owner)
        rules = [rule for rule in self._site.url_map.iter_rules() if id(rule) not in before]
        for rule in rules:
            self._site.note_plugin(rule, self._bringers.label_of(blueprint))
        return next((cause for rule in rules for cause in self._conflicts(rule, owner)), None)

    def _conflicts(self, rule: Rule, owner: str) -> Iterator[str]:
        """Yield what is wrong about a new rule, and count it as taken."""
        if rule.websocket:
            yield f"its route {rule.rule} is a WebSocket, and this server takes none."
        shape = Shape.of(rule)
        for other, taken, by in self._taken:
            if _clash(shape, other, are_of_one=owner == by):
                who = "this plugin too" if by == owner else by
                yield _sentence(rule, taken, min(shape.methods & other.methods), who)
        self._taken.append((shape, rule, owner))


def _clash(one: Shape, other: Shape, *, are_of_one: bool) -> bool:
    """Return whether one of two rules would be dead; a plugin may have special cases of its own addresses."""
    if are_of_one:
        return one.segments == other.segments and bool(one.methods & other.methods)
    if one.takes_whatever_is_left or other.takes_whatever_is_left:
        return one.takes_whatever_is_left and other.takes_whatever_is_left and one.meets(other)
    return one.meets(other)


def _sentence(rule: Rule, taken: Rule, method: str, by: str) -> str:
    if rule.rule == taken.rule:
        return f"its route {method} {rule.rule} belongs to {by}."
    return (
        f"its route {method} {rule.rule} answers the same requests as {method} {taken.rule}, "
        f"which belongs to {by}."
    )
