"""What comes of a check over all profiles, and what may be claimed of the server.

A check has passed if it passed in one profile and failed in none; it has failed if it
failed in any.  A claim counts required checks alone, and a check that could not be shown is never silently
taken for one that passed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from teamchat_conformance import __version__
from teamchat_conformance.registry import NEEDS, Check, Registry
from teamchat_conformance.runner import Result
from teamchat_conformance.verdicts import Finding, Outcome

_WORST_FIRST: tuple[Outcome, ...] = (
    "fail", "error", "note", "pass", "recorded", "blocked", "not-exercised", "not-applicable", "skipped",
)  # fmt: skip
_OPEN = ("blocked", "not-exercised", "skipped")
_NEEDS = re.compile(r"needs ([\w, ]+)")


@dataclass(frozen=True)
class Merged:
    """One check over all profiles. `finding` is the one that decided, made in `profile`."""

    check: Check
    verdict: Outcome
    profile: int
    finding: Finding

    def fails_run(self, *, strict: bool) -> bool:
        """Return whether the run fails for it."""
        if self.verdict == "error":
            return True
        if self.check.level == "required":
            return self.verdict == "fail" or (strict and self.verdict == "note")
        return strict and self.check.level == "recommended" and self.verdict in ("fail", "note")

    @property
    def is_warning(self) -> bool:
        """Return whether it is no failure and yet to be told."""
        return self.verdict == "note" or (self.verdict == "fail" and self.check.level == "recommended")

    @property
    def is_open(self) -> bool:
        """Return whether it was neither shown nor left out on purpose."""
        return self.verdict in _OPEN


def merged(results: Sequence[Result], registry: Registry) -> dict[str, Merged]:
    """Return the verdict of every check of the registry."""
    return {check.id: _of(check, results) for check in registry.checks.values()}


def _of(check: Check, results: Sequence[Result]) -> Merged:
    found = [
        (n, result.findings[check.id]) for n, result in enumerate(results) if check.id in result.findings
    ]
    if not found:
        return Merged(check, "skipped", 0, Finding(check.id, "skipped", "not run"))
    profile, finding = min(found, key=lambda pair: _WORST_FIRST.index(pair[1].outcome))
    return Merged(check, finding.outcome, profile, finding)


@dataclass(frozen=True)
class Claim:
    """What may be said of the server: the first line of every report."""

    word: str
    """``conforming``, ``non-conforming`` or ``incomplete``."""
    says: str
    """The word with its number: ``conforming with 3 warnings``, ``non-conforming (2 required)``."""
    name: str
    suite: str
    profiles: tuple[str, ...]
    exceptions: tuple[str, ...]
    """What the server does not declare, or nobody has checks for, so that it was not looked at."""
    parts: tuple[str, ...] = ("core",)
    """What was looked at: the core, and each capability with its version."""

    @property
    def line(self) -> str:
        """The whole claim in one line."""
        return f"{self.head}; {self.tail}" if self.tail else self.head

    @property
    def head(self) -> str:
        """The claim, of what, in which parts, by which suite, in which profiles."""
        profiles = f", {counted(len(self.profiles), 'profile')}: {' '.join(self.profiles)}"
        of = f"{self.name} ({listed(self.parts)})"
        return f"{self.says}: {of}, by {self.suite}{profiles if self.profiles else ''}"

    @property
    def tail(self) -> str:
        """What was not looked at."""
        return f"not looked at: {', '.join(self.exceptions)}" if self.exceptions else ""


def claim_of(results: Sequence[Result], all_merged: Iterable[Merged], registry: Registry) -> Claim:
    """Return what may be claimed."""
    everything = list(all_merged)
    required = [one for one in everything if one.check.level == "required"]
    failed = sum(one.verdict == "fail" for one in required)
    missing = sum(one.is_open or one.verdict == "error" for one in required)
    warnings = sum(one.is_warning for one in everything)
    if failed:
        word, says = "non-conforming", f"non-conforming ({failed} required)"
    elif missing:
        word, says = "incomplete", f"incomplete ({missing} required not shown)"
    elif warnings:
        word, says = "conforming", f"conforming with {counted(warnings, 'warning')}"
    else:
        word = says = "conforming"
    named = results[0].instance.instance if results else None
    name = f"{named.name} {named.version}".strip() if named else "nothing"
    profiles = tuple(result.profile for result in results if result.profile)
    exceptions = tuple(sorted(_exceptions(everything, results) | _passed_over(results, registry)))
    offered = {name for result in results for name in result.announced.looked_at(registry)}
    parts = ("core", *sorted(offered))
    return Claim(word, says, name, f"teamchat-conformance {__version__}", profiles, exceptions, parts)


def counts(all_merged: Iterable[Merged]) -> dict[str, int]:
    """Return how many checks have which verdict."""
    counted = Counter(one.verdict for one in all_merged)
    return {verdict: counted[verdict] for verdict in _WORST_FIRST}


def _exceptions(everything: Iterable[Merged], results: Sequence[Result]) -> set[str]:
    """Return what required checks would have needed, and no profile of the server declares."""
    declared: set[str] = set()
    for result in results:
        options = result.options
        declared |= result.instance.capabilities(slow=options.slow, load=options.load)
    found: set[str] = set()
    for one in everything:
        named = _NEEDS.search(one.finding.message)
        if one.verdict == "not-applicable" and one.check.level == "required" and named:
            found |= {name.strip() for name in named[1].split(",")}
    return {NEEDS.get(name, name) for name in found - declared if not name.startswith("no")}


def _passed_over(results: Sequence[Result], registry: Registry) -> set[str]:
    """Return the capabilities that a server announces and nobody has checks for."""
    return {what for result in results for what in result.announced.passed_over(registry)}


def listed(names: Sequence[str]) -> str:
    """Return names as they stand in a sentence: one, two and three."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number} {what}{'' if number == 1 else 's'}"
