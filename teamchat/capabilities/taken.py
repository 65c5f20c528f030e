"""The capabilities of one server: those that plugins offer and the configuration leaves on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from teamchat.capabilities.announced import Announced
from teamchat.capabilities.changes import InTransaction
from teamchat.capabilities.fields import Fields
from teamchat.capabilities.offer import Capability, Job, Parts
from teamchat.errors import PluginError
from teamchat.events import OWN_TYPES, Payload

if TYPE_CHECKING:
    from teamchat.api import Teamchat
    from teamchat.interfaces import Routes, Transaction
    from teamchat.model import Caller
    from teamchat.storage.capability_tables import CapabilityTables


@dataclass
class Taken:
    """A capability that is on: the offer, what makes its parts, and the plugin, as the log calls it.

    `folder` is its part of the web client. `parts` are empty until the application is there.
    """

    offer: Capability
    make: Callable[[Teamchat], Parts]
    label: str
    tables: CapabilityTables | None = None
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
        self.event_types = self._event_types()
        self.in_transaction = InTransaction()
        self.message_fields = Fields()

    @property
    def client_folders(self) -> list[tuple[str, Traversable]]:
        """The parts of the web client: a name and a folder, in the order of the names."""
        return [(one.name, one.folder) for one in self.taken if one.folder is not None]

    @property
    def jobs(self) -> list[Job]:
        """What they have done every hour."""
        return [job for one in self.taken for job in one.parts.jobs]

    @property
    def tables(self) -> list[CapabilityTables]:
        """The tables that they bring."""
        return [one.tables for one in self.taken if one.tables is not None]

    @property
    def routes(self) -> list[Routes]:
        """The sections of endpoints that they bring."""
        return [section for one in self.taken for section in one.parts.routes]

    def bring(self, app: Teamchat) -> None:
        """Ask every capability for its parts, once, when the application is there."""
        for one in self.taken:
            one.parts = one.make(app)
        parts = [(one.parts, one.label) for one in self.taken]
        self.in_transaction = InTransaction([(some.changes, label) for some, label in parts if some.changes])
        self.message_fields = Fields([some.message_fields for some, _ in parts if some.message_fields])

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers."""
        return Announced({one.name: {"version": one.offer.version, **one.parts.limits} for one in self.taken})

    async def may(self, tx: Transaction, caller: Caller) -> list[str]:
        """Return what a user may do besides, as all capabilities say, in alphabetical order."""
        found = [await one.parts.may(tx, caller) for one in self.taken if one.parts.may is not None]
        return sorted({each for some in found for each in some})

    def _event_types(self) -> dict[str, type[Payload]]:
        """Return the payloads of their events by type. Raises `PluginError` for a type of somebody else's."""
        found: dict[str, type[Payload]] = {}
        for one in self.taken:
            for payload in one.offer.events:
                if payload.type in found or payload.type in OWN_TYPES:
                    raise PluginError(
                        f"The capability {one.name} of the plugin {one.label} declares the event "
                        f"{payload.type}, which is somebody else's already."
                    )
                found[payload.type] = payload
        return found

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
