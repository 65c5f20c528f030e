"""What a monitor has seen about its checks: how often it looked, and the first things that were not right."""

from __future__ import annotations

from collections.abc import Iterator

from teamchat_conformance.registry import Registry
from teamchat_conformance.verdicts import Finding

_MOST_KEPT = 20
_MOST_SHOWN = 2_000


class _Count:
    """What was seen about one check."""

    def __init__(self) -> None:
        self.looked = 0
        self.wrong: list[tuple[str, int]] = []
        self.odd: list[tuple[str, int]] = []
        self.number = 0

    def finding(self, id: str) -> Finding:
        kept = self.wrong or self.odd
        if not kept:
            return Finding(id, "pass", f"{self.looked} looked at", value=self.looked)
        outcome = f"{self.number} of {self.looked}: " if self.wrong else ""
        shown = "; ".join(dict.fromkeys(what for what, _ in kept))
        numbers = [number for _, number in kept if number]
        return Finding(
            id, "fail" if self.wrong else "note", f"{outcome}{shown}"[:_MOST_SHOWN], numbers, self.looked,
            next(iter(numbers), 0),
        )  # fmt: skip


class Tally:
    """Counts for the checks of one monitor."""

    def __init__(self, *ids: str) -> None:
        self._counts = {id: _Count() for id in ids}

    def look(self, id: str, wrong: str = "", *, odd: str = "", exchange: int = 0) -> None:
        """Take up that something was looked at, what was wrong with it, or what is accepted but odd."""
        count = self._counts.setdefault(id, _Count())
        count.looked += 1
        count.number += bool(wrong)
        for what, kept in ((wrong, count.wrong), (odd, count.odd)):
            if what and len(kept) < _MOST_KEPT:
                kept.append((what, exchange))

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Yield a finding for each check that is in the registry and had something to look at."""
        for id, count in self._counts.items():
            if count.looked and id in registry.checks:
                yield count.finding(id)
