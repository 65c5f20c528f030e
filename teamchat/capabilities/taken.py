"""The capabilities of one server: those that plugins offer and the configuration leaves on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from teamchat.capabilities.announced import Announced
from teamchat.capabilities.changes import Changes, InTransaction, Part
from teamchat.capabilities.declared import Declared
from teamchat.capabilities.drafts import DraftPart, Drafts
from teamchat.capabilities.facade import facade
from teamchat.capabilities.fields import Fields
from teamchat.capabilities.kept_files import KeepsFiles
from teamchat.capabilities.message_tests import MessageTest, MessageText
from teamchat.capabilities.notices import Notices
from teamchat.capabilities.offer import Capability, Job, Parts
from teamchat.capabilities.reminders import Reminders
from teamchat.capabilities.second_step import SecondStep
from teamchat.capabilities.user_fields import FieldsOfUsers
from teamchat.errors import PluginError
from teamchat.events import OWN_TYPES, Payload, Signal

if TYPE_CHECKING:
    from teamchat.interfaces import Credentials, IdentityProvider, Routes, Service, Transaction
    from teamchat.interfaces.api import Teamchat
    from teamchat.model import Caller
    from teamchat.storage.capability_tables import CapabilityTables

_NAME = re.compile(r"[A-Za-z0-9.-]{1,64}")
_BOTS = "bots"
_BY_ONE_ALONE = ("credentials", "notices", "second_step")


OWN: dict[str, Mapping[str, int]] = {
    name: {"version": 1}
    for name in (
        *("archive", "audit", "deactivation", "groups", "membership", "message-context", "notes"),
        *("private-channels", "roles"),
    )
}
"""The capabilities that teamchat has without a plugin: who sees what, and how messages are read."""


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
    options: Any = None
    parts: Parts = field(default_factory=Parts)

    @property
    def name(self) -> str:
        """The name by which it is announced."""
        return self.offer.name


class Capabilities:
    """All capabilities that are on, in the order of their names."""

    def __init__(self, taken: Sequence[Taken] = ()) -> None:
        self.taken = sorted(taken, key=lambda one: one.name)
        self._check_names()
        self._check_needs()
        self.event_types = self._event_types()
        self._own: list[Part] = []
        self.in_transaction = InTransaction()
        self.credentials: Credentials | None = None
        self.has_bots = any(one.name == _BOTS for one in self.taken)
        """Whether bots act: where they are off, nobody can see or end what their tokens do."""
        self.second_step: SecondStep | None = None
        """What tells who has a second factor; None if no capability does."""
        self.message_fields = Fields()
        self.drafts = Drafts()
        self.user_fields = FieldsOfUsers()

    @property
    def client_folders(self) -> list[tuple[str, Traversable]]:
        """The parts of the web client: a name and a folder, in the order of the names."""
        return [(one.name, one.folder) for one in self.taken if one.folder is not None]

    @property
    def file_backend(self) -> str | None:
        """The name of the store of files that one of them needs; None if none does."""
        names = [one.offer.files.backend(one.options) for one in self.taken if one.offer.files is not None]
        return names[0] if names else None

    @property
    def kept_files(self) -> list[KeepsFiles]:
        """What they keep in the store of files."""
        return [one.offer.files for one in self.taken if one.offer.files is not None]

    @property
    def jobs(self) -> list[Job]:
        """What they have done every hour."""
        return [job for one in self.taken for job in one.parts.jobs]

    @property
    def services(self) -> list[Service]:
        """What of them runs as long as the server does."""
        return [service for one in self.taken for service in one.parts.services]

    @property
    def message_tests(self) -> dict[str, MessageTest]:
        """What can be asked of messages, by the words of a search."""
        return {word: test for one in self.taken for word, test in one.parts.message_tests.items()}

    async def message_texts(
        self, tx: Transaction, message_ids: Sequence[str]
    ) -> dict[str, Sequence[MessageText]]:
        """Return what stands in messages besides their content, of those in which anything does."""
        found: dict[str, Sequence[MessageText]] = {}
        for one in self.taken:
            if one.parts.message_texts is not None and message_ids:
                for id_, texts in (await one.parts.message_texts(tx, message_ids)).items():
                    found[id_] = [*found.get(id_, ()), *texts]
        return found

    @property
    def reminders(self) -> list[Reminders]:
        """What they remind users of."""
        return [one.parts.reminders for one in self.taken if one.parts.reminders is not None]

    @property
    def notices(self) -> Notices | None:
        """What tells whom messages notify; None if no capability does."""
        return next((one.parts.notices for one in self.taken if one.parts.notices is not None), None)

    @property
    def identity_providers(self) -> list[IdentityProvider]:
        """Where people may sign in besides."""
        return [provider for one in self.taken for provider in one.parts.identity_providers]

    @property
    def tables(self) -> list[CapabilityTables]:
        """The tables that they bring."""
        return [one.tables for one in self.taken if one.tables is not None]

    @property
    def routes(self) -> list[Routes]:
        """The sections of endpoints that they bring."""
        return [section for one in self.taken for section in one.parts.routes]

    @property
    def logged_types(self) -> set[str]:
        """The types of those of their events that stand in the log."""
        return {name for name, payload in self.event_types.items() if not issubclass(payload, Signal)}

    @property
    def signals(self) -> set[str]:
        """The names by which streams ask for their signals."""
        return {one.asked_as for one in self.event_types.values() if issubclass(one, Signal)}

    def bring(self, app: Teamchat) -> None:
        """Ask every capability for its parts, once, when the application is there."""
        changes: list[Part] = []
        drafts: list[DraftPart] = []
        for one in self.taken:
            declared = Declared(one.name, [*one.offer.events, *self._signals_beside(one)])
            one.parts = one.make(facade(app, declared))
            if one.parts.changes is not None:
                changes.append((one.parts.changes, one.label, declared))
        self._check_alone()
        self.in_transaction = InTransaction([*self._own, *changes])
        self.credentials = next(
            (one.parts.credentials for one in self.taken if one.parts.credentials is not None), None
        )
        self.second_step = next(
            (one.parts.second_step for one in self.taken if one.parts.second_step is not None), None
        )
        for one in self._needed_first():
            if one.parts.draft_fields is not None:
                drafts.append((one.parts.draft_fields, one.label, Declared(one.name, one.offer.events)))
        fields = [one.parts.message_fields for one in self.taken]
        self.message_fields = Fields([one for one in fields if one is not None])
        self.drafts = Drafts(drafts)
        self.user_fields = FieldsOfUsers(
            [one.parts.user_fields for one in self.taken if one.parts.user_fields is not None]
        )

    def keep(self, own: Changes) -> None:
        """Have the chat itself called with changes, before all capabilities."""
        self._own = [(own, "teamchat", Declared("teamchat", ()))]
        self.in_transaction = InTransaction(self._own)

    def announced(self) -> Announced:
        """Return what ``GET /capabilities`` answers."""
        brought: dict[str, Mapping[str, int]] = {
            one.name: {"version": one.offer.version, **one.parts.limits} for one in self.taken
        }
        return Announced(dict(sorted((OWN | brought).items())))

    async def user_names(self, tx: Transaction) -> dict[str, list[str]]:
        """Return by what other names people look for users, by the users' ids."""
        names: dict[str, list[str]] = {}
        for one in self.taken:
            if one.parts.user_names is not None:
                for user_id, some in (await one.parts.user_names(tx)).items():
                    names.setdefault(user_id, []).extend(some)
        return names

    async def may(self, tx: Transaction, caller: Caller) -> list[str]:
        """Return what a user may do besides, as all capabilities say, in alphabetical order."""
        found = [await one.parts.may(tx, caller) for one in self.taken if one.parts.may is not None]
        return sorted({each for some in found for each in some})

    def _signals_beside(self, one: Taken) -> list[type[Signal]]:
        """Return the signals of what a capability needs and its own plugin brings: it may send these, too."""
        needed = [other for other in self.taken if other.label == one.label and other.name in one.offer.needs]
        return [each for other in needed for each in other.offer.events if issubclass(each, Signal)]

    def _needed_first(self) -> list[Taken]:
        """Return all capabilities, each after those that it needs."""
        waiting, ordered, names = list(self.taken), [], set(OWN)
        while waiting:
            ready = [one for one in waiting if names.issuperset(one.offer.needs)] or waiting
            names |= {one.name for one in ready}
            ordered += ready
            waiting = [one for one in waiting if one.name not in names]
        return ordered

    def _event_types(self) -> dict[str, type[Payload]]:
        """Return the payloads of their events by type. Raises `PluginError` for a type of somebody else's."""
        found: dict[str, type[Payload]] = {}
        for one in self.taken:
            for payload in one.offer.events:
                if not isinstance(getattr(payload, "type", None), str):
                    raise PluginError(
                        f"The capability {one.name} of the plugin {one.label} declares the event "
                        f"{payload.__name__}, which has no type."
                    )
                if payload.type in found or payload.type in OWN_TYPES:
                    raise PluginError(
                        f"The capability {one.name} of the plugin {one.label} declares the event "
                        f"{payload.type}, which is somebody else's already."
                    )
                if "." in one.name and not payload.type.startswith(f"{one.name}."):
                    raise PluginError(
                        f"The capability {one.name} of the plugin {one.label} declares the event "
                        f"{payload.type}, whose type does not begin with its name and a dot, such as "
                        f"{one.name}.{payload.type.rpartition('.')[2].lower()}."
                    )
                if payload.changes_pages_of not in {"", *payload.__struct_fields__}:
                    raise PluginError(
                        f"The capability {one.name} of the plugin {one.label} declares the event "
                        f"{payload.type}, whose changes_pages_of names no field of it."
                    )
                if issubclass(payload, Signal) and not _can_be_asked_for(payload):
                    raise PluginError(
                        f"The capability {one.name} of the plugin {one.label} declares the signal "
                        f"{payload.type}, whose asked_as is no name of letters, digits, . and -, or whose "
                        "latest_of, watched_in or done_by names no field of it."
                    )
                found[payload.type] = payload
        return found

    def _check_names(self) -> None:
        """Raise `PluginError` for a name of teamchat's own, and for tables that two would have."""
        by_namespace: dict[str, Taken] = {}
        for one in self.taken:
            if one.name in OWN:
                raise PluginError(
                    f"The capability {one.name} of the plugin {one.label} has a name of teamchat's own. "
                    "One of your own has a dot in it."
                )
            if one.tables is None:
                continue
            other = by_namespace.setdefault(one.tables.namespace, one)
            if other is not one:
                raise PluginError(
                    f"The tables of the capabilities {other.name} of the plugin {other.label} and {one.name} "
                    f"of {one.label} would have the same names. Turn one of them off."
                )

    def _check_alone(self) -> None:
        """Raise `PluginError` where two bring what one alone may: the second would never be asked."""
        brought: dict[str, Taken] = {}
        for one in self.taken:
            parts = [part for part in _BY_ONE_ALONE if getattr(one.parts, part) is not None]
            for part in (*parts, *(f'the message test "{word}"' for word in one.parts.message_tests)):
                other = brought.setdefault(part, one)
                if other is not one:
                    raise PluginError(
                        f"The capabilities {other.name} of the plugin {other.label} and {one.name} of "
                        f"{one.label} both bring {part}, and one alone may. Turn one of them off."
                    )

    def _check_needs(self) -> None:
        names = OWN.keys() | {one.name for one in self.taken}
        for one in self.taken:
            missing = sorted(set(one.offer.needs) - names)
            if missing:
                raise PluginError(
                    f"The capability {one.name} of the plugin {one.label} needs "
                    f"{' and '.join(missing)}, which no active plugin offers or the configuration turns off. "
                    f"Install or turn on what is missing, or turn {one.name} off."
                )


def _can_be_asked_for(signal: type[Signal]) -> bool:
    name = getattr(signal, "asked_as", "")
    named = {*signal.latest_of, *(one for one in (signal.watched_in, signal.done_by) if one)}
    return bool(_NAME.fullmatch(name)) and named <= set(signal.__struct_fields__)
