"""The checks as they are listed and explained, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from teamchat_conformance.profiles import PROFILES
from teamchat_conformance.registry import NEEDS, Check, Registry

FORMATS = ("table", "json", "md")

_LEVELS = {
    "required": "The specification says so, or a decision without which no server can be used or trusted. "
    "A failure means that the server does not conform.",
    "recommended": "The specification leaves it open, and this is the sensible way. A failure is a warning.",
    "recorded": "The specification is silent. What the server does is written down; it can't fail.",
}


def chosen(registry: Registry, areas: Sequence[str] = (), levels: Sequence[str] = ()) -> list[Check]:
    """Return the checks of these areas and levels; of all if none are given."""
    return [
        check
        for check in registry.checks.values()
        if (not areas or check.area in areas) and (not levels or check.level in levels)
    ]


def listed(checks: Iterable[Check], format: str) -> str:
    """Return a list of checks as a table for a terminal, as JSON, or as Markdown."""
    rows = [_row(check) for check in checks]
    if format == "json":
        return json.dumps(rows, indent=2)
    cells = [[row["id"], row["level"], row["spec"], ", ".join(row["needs"]), row["text"]] for row in rows]
    head = ["id", "level", "where", "needs", "what must be seen"]
    if format == "md":
        lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in cells)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(len(row[column]) for row in [head, *cells]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *cells]
    )


def explained(registry: Registry, id: str) -> str:
    """Return everything that is known of a check. Raises `LookupError` if there is none of this id."""
    check = registry.checks.get(id)
    if check is None:
        raise LookupError(f"no check is called {id}; teamchat-conformance list shows all")
    plays = [play.name for play in registry.plays() if id in play.ids]
    lines = [
        f"{check.id} ({check.level}, {check.spec})",
        "",
        f"  {check.text}.",
        "",
        f"Level    {_LEVELS[check.level]}",
        *(
            [f"Asked    of servers that announce {check.capability} {check.version}"]
            if check.capability
            else []
        ),
        *(f"Words    {words}" for words in check.words),
        *(f"Needs    {NEEDS[need]}" for need in sorted(_needs(registry, check))),
        f"Decided  by {', '.join(plays) if plays else 'a monitor that looks at everything in a run'}",
        f"Run it   teamchat-conformance --base-url URL --instance FILE --select {check.id}",
    ]
    if check.area == "CFG":
        lines.append("         with --launch configuration in place of --base-url URL")
    return "\n".join(lines)


def profiles() -> str:
    """Return the names of the profiles and what each is for."""
    return "\n".join(f"{name:15} {profile.title}" for name, profile in PROFILES.items())


def _needs(registry: Registry, check: Check) -> set[str]:
    return set(check.needs).union(*(play.needs for play in registry.plays() if check.id in play.ids))


def _row(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "level": check.level,
        "spec": check.spec,
        "needs": [*([f"{check.capability} {check.version}"] if check.capability else []), *check.needs],
        "text": check.text,
        "words": list(check.words),
    }
