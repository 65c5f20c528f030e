"""What a check found wrong, but for how fast a machine that runs many tests at once answers."""

from __future__ import annotations

from collections.abc import Iterable

from teamchat.operations.checking.findings import Finding, Level


def wrong(findings: Iterable[Finding]) -> list[Finding]:
    """Return what is not in order."""
    return [
        one for one in findings if one.level is not Level.OK and not one.sentence.startswith("a read takes ")
    ]
