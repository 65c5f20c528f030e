"""What is looked at in every answer and every event of a run, whatever the scenario was about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from teamchat_conformance.registry import Registry
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run


class Monitors:
    """Looks on for a whole run, and tells in the end what it saw."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Yield a finding for every monitored check that had something to look at."""
        return iter(())
