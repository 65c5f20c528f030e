"""The capabilities of one server: those that plugins offer and the configuration leaves on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from teamchat.capabilities.announced import Announced
from teamchat.capabilities.offer import Capability, Parts
from teamchat.errors import PluginError

if TYPE_CHECKING:
    from quart import Blueprint

    from teamchat.api import Teamchat
    from teamchat.interfaces import Transaction
    from teamchat.model import Caller


@dataclass
class Taken:
    """A capability that is on: the offer, what makes its parts, and the plugin, as the log calls it.

    `folder` is its part of the web client. `parts` are empty until the application is there.
    """

    offer: Capability
    make: Callable[[Teamchat], Parts]
    label: str
    folder: Traversable | None = None
    parts: Parts = field(default_factory=Parts)

    @property
    def name(self) -> str:
        """The name by which it is announced."""
        return self.offer.name


class Capabilities:
    """All capabilities that are on, in the order of their names."""

    def __init__(self, taken: Sequence[Taken] = ()) -> None:
        self.taken = sorted(taken, key=lambda one: one.name)
        self._check_needs()

    @property
    def client_folders(self) -> list[tuple[str, Traversable]]:
        """The parts of the web client: a name and a folder, in the order of the names."""
        return [(one.name, one.folder) for one in self.taken if one.folder is not None]

    @property
    def routes(self) -> list[Blueprint]:
        """The sections of endpoints that they bring."""
        return [section for one in self.taken for section in one.parts.routes]

    def bring(self, app: Teamchat) -> None:
        """Ask every capability for its parts, once, when the application is there."""
        for one in self.taken:
            one.parts = one.make(app)

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers."""
        return Announced({one.name: {"version": one.offer.version, **one.parts.limits} for one in self.taken})

    async def may(self, tx: Transaction, caller: Caller) -> list[str]:
        """Return what a user may do besides, as all capabilities say, in alphabetical order."""
        found = [await one.parts.may(tx, caller) for one in self.taken if one.parts.may is not None]
        return sorted({each for some in found for each in some})

    def _check_needs(self) -> None:
        names = {one.name for one in self.taken}
        for one in self.taken:
            missing = sorted(set(one.offer.needs) - names)
            if missing:
                raise PluginError(
                    f"The capability {one.name} of the plugin {one.label} needs "
                    f"{' and '.join(missing)}, which no active plugin offers or the configuration turns off. "
                    f"Install or turn on what is missing, or turn {one.name} off."
                )
