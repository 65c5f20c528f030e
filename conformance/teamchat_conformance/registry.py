"""Every check as data, and the scenarios that decide them.

An id is given once, never reused and never renumbered; every check is decided by a
scenario or a monitor; and a scenario decides no check but those it names.  A check's level says where it
comes from: ``required`` is a statement of the specification, or one of the few decisions without which nobody
could use or trust a server, and the check quotes its words; ``recommended`` is any other decision, or a
statement of a standard; ``recorded`` is a place where the specification is silent, which cannot fail.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.events import EventType

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

Level = Literal["required", "recommended", "recorded"]
Scenario = Callable[["Run"], Awaitable[None]]

_ID = re.compile(r"[A-Z]+(?:-[A-Z0-9]+)+\Z")

NEEDS = {
    "dev": "sign-in mode dev",
    "magic": "sign-in mode magic-link",
    "pw": "sign-in mode password",
    "notdev": "a sign-in mode other than dev",
    "notmagic": "a sign-in mode other than magic-link",
    "notpw": "a sign-in mode other than password",
    "mail": "mail that arrives in the suite's sink",
    "nomail": "a server without mail",
    "idp": "the suite's identity provider as an OAuth provider of the server",
    "idp2": "two OAuth providers of the suite's",
    "nooauth": "a server without OAuth",
    "invite": "auth.isInviteRequired true",
    "open": "auth.isInviteRequired false",
    "short": "an access token lifetime of 10 seconds at most",
    "exclusive": "an instance that belongs to this run alone",
    "launch": "a server that the suite starts",
    "ips": "requests from several client addresses",
    "slow": "time (--slow)",
    "load": "leave to make load (--load)",
}
"""What a check may need of the instance, and what it is called in a report."""


@dataclass(frozen=True)
class Check:
    """One thing that is looked at. `spec` says where it stands, `text` what must be seen.

    `words` are those that demand it, of the specification or of a decision: every required check has some.
    One of a capability is asked for where that is announced, in this version or a later one.
    """

    id: str
    level: Level
    spec: str
    text: str
    needs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    capability: str = ""
    version: int = 0

    @property
    def area(self) -> str:
        """The part of the id before the first hyphen."""
        return self.id.partition("-")[0]


@dataclass(frozen=True)
class Play:
    """A scenario and the checks it decides."""

    name: str
    scenario: Scenario
    ids: tuple[str, ...]
    needs: tuple[str, ...]
    last: bool
    """Whether it is to run after all others, for it leaves a mark: a limit reached, a name changed."""
    seconds: float = 180.0
    """How long it may take."""


@dataclass
class Area:
    """The checks and scenarios about one part of the interface.

    An area of a `capability` is about an extension: `version` is the newest that its checks know; its
    `endpoints` and `events` are looked at by the monitors as the core's are, and its `fields` may stand in
    answers and events of the core.
    """

    name: str
    title: str
    capability: str = ""
    version: int = 1
    endpoints: tuple[Endpoint, ...] = ()
    events: tuple[EventType, ...] = ()
    fields: frozenset[str] = frozenset()
    checks: dict[str, Check] = field(default_factory=dict)
    plays: list[Play] = field(default_factory=list)
    monitored: set[str] = field(default_factory=set)

    def required(
        self, id: str, spec: str, text: str, *needs: str, words: Sequence[str] = (), since: int = 1
    ) -> None:
        """Declare a check of a statement of the specification, or of a decision that is as binding.

        A check of a capability gives the words that demand it; the core's are found in its own text.
        """
        self._declare(Check(id, "required", spec, text, needs, tuple(words)), since)

    def recommended(self, id: str, spec: str, text: str, *needs: str, since: int = 1) -> None:
        """Declare a check of a decision, a standard, or plain safety."""
        self._declare(Check(id, "recommended", spec, text, needs), since)

    def recorded(self, id: str, spec: str, text: str, *needs: str, since: int = 1) -> None:
        """Declare a place where the specification is silent: what is seen there is written down."""
        self._declare(Check(id, "recorded", spec, text, needs), since)

    def scenario(
        self, *ids: str, needs: Sequence[str] = (), last: bool = False, seconds: float = 180.0
    ) -> Callable[[Scenario], Scenario]:
        """Take up a scenario that decides the checks `ids`, all of which are declared already.

        `needs` are those of the scenario itself; a check with needs of its own that are not met is left
        out alone.
        """
        for id in ids:
            if id not in self.checks:
                raise ValueError(f"no check is called {id}")

        def take(scenario: Scenario) -> Scenario:
            name = f"{self.name}/{getattr(scenario, '__name__', 'scenario')}"
            self.plays.append(Play(name, scenario, ids, tuple(needs), last, seconds))
            return scenario

        return take

    def monitor(self, *ids: str) -> None:
        """Say that a monitor decides these checks from everything that happens in a run."""
        self.monitored.update(ids)

    def _declare(self, check: Check, since: int) -> None:
        if not _ID.match(check.id) or check.area != self.name:
            raise ValueError(f"{check.id} is no id of the area {self.name}")
        if check.id in self.checks:
            raise ValueError(f"{check.id} is declared twice")
        if unknown := set(check.needs) - set(NEEDS):
            raise ValueError(f"{check.id} needs what nobody knows: {', '.join(sorted(unknown))}")
        if self.capability:
            check = replace(check, capability=self.capability, version=since)
            if check.level == "required" and not check.words:
                raise ValueError(f"{check.id} is required, and no words say so")
            if not 1 <= since <= self.version:
                raise ValueError(f"{check.id} is of version {since}; the area knows 1 to {self.version}")
        self.checks[check.id] = check


class Registry:
    """All areas, in the order in which they run."""

    def __init__(self, areas: Iterable[Area]) -> None:
        self.areas = tuple(areas)
        self.checks: dict[str, Check] = {}
        for area in self.areas:
            if taken := self.checks.keys() & area.checks.keys():
                raise ValueError(f"declared twice: {', '.join(sorted(taken))}")
            self.checks.update(area.checks)

    def plays(self) -> Iterator[Play]:
        """Yield the scenarios in the order in which they run: those that leave a mark come last."""
        everything = [play for area in self.areas for play in area.plays]
        yield from (play for play in everything if not play.last)
        yield from (play for play in everything if play.last)

    def undecided(self) -> set[str]:
        """Return the checks that nothing decides; there must be none."""
        decided = {id for area in self.areas for play in area.plays for id in play.ids}
        return set(self.checks) - decided - {id for area in self.areas for id in area.monitored}


def load(extensions: Iterable[Area] = ()) -> Registry:
    """Return the registry of the core; each of its required checks has the words that demand it.

    Areas of `extensions` come after the core's.
    """
    from teamchat_conformance import spec_map
    from teamchat_conformance.checks import AREAS

    registry = Registry((*AREAS, *extensions))
    known = spec_map.load()
    for id, check in registry.checks.items():
        if check.level == "required" and not check.capability:
            registry.checks[id] = replace(check, words=known.words_of(id))
    return registry
