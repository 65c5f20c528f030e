"""The exit code of a run, and why it is not 0, in a line.

A required check that failed means that the server does not conform; a warning is as bad
as that only where the report says so; and a fault of the suite is never taken for one of the server, nor
passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from teamchat_conformance.report.document import Checked, Document
from teamchat_conformance.runner import Result

CONFORMS, DOES_NOT, USAGE, UNREACHABLE, INCOMPLETE = range(5)

_UNDECIDED = ("blocked", "not-exercised")
_MOST_NAMED = 12


def accept(results: Sequence[Result], accepted: Mapping[str, str]) -> list[str]:
    """Let checks pass whose note the description accepts, and return the ids that no longer need it.

    Only a note can be accepted, never a failure.
    """
    noted: set[str] = set()
    decided: set[str] = set()
    for finding in (result.findings[id] for result in results for id in accepted if id in result.findings):
        if finding.outcome in ("pass", "note"):
            decided.add(finding.id)
        if finding.outcome == "note":
            noted.add(finding.id)
            finding.outcome = "pass"
            finding.message = f"accepted, since {accepted[finding.id]}: {finding.message}"
    return sorted(decided - noted)


def judge(document: Document, *, complete: bool) -> tuple[int, str]:
    """Return the exit code, and the reason if there is one.

    With `complete`, every required check must have been decided that the server has what it needs for.
    """
    wrong = [one for one in document.checks if one.fails_run and one.verdict != "error"]
    faults = [one for one in document.checks if one.verdict == "error"]
    undecided = [one for one in document.checks if one.level == "required" and one.verdict in _UNDECIDED]
    if wrong:
        return DOES_NOT, f"The server does not conform: {_named(wrong)}."
    if faults:
        return (
            INCOMPLETE,
            f"Incomplete, by a fault of the suite itself and not of the server: {_named(faults)}.",
        )
    if complete and undecided:
        return INCOMPLETE, f"Incomplete: of what is required nothing can be said about {_named(undecided)}."
    return CONFORMS, ""


def _named(checks: list[Checked]) -> str:
    named = ", ".join(one.id for one in checks[:_MOST_NAMED])
    return f"{named} and {len(checks) - _MOST_NAMED} more" if len(checks) > _MOST_NAMED else named
