"""Writes the generated part of each reference page: what follows its line of dashes `<!-- generated -->`.

``make docs`` runs it; `tests/test_docs.py` fails when a page is not what this would write.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import msgspec

from teamchat import events, hookspecs, settings

REFERENCE = Path(__file__).parent / "reference"
MARK = "<!-- generated -->\n"


def hooks() -> str:
    """Return every hook with its signature and docstring."""
    parts = []
    for name, function in vars(hookspecs).items():
        if getattr(function, "teamchat_spec", None) is None:
            continue
        arguments = ", ".join(inspect.signature(function).parameters)
        parts.append(f"## `{name}({arguments})`\n\n{inspect.getdoc(function)}\n")
    return "\n".join(parts)


def event_types() -> str:
    """Return the table of event types and their fields; those in brackets may be left out."""
    rows = ["| type | payload |", "|---|---|"]
    for payload in _payloads(events.Payload):
        fields = [
            name if field.required else f"[{name}]"
            for field in msgspec.structs.fields(payload)
            for name in [field.encode_name]
        ]
        rows.append(f"| `{payload.type}` | {', '.join(fields)} |")
    return "\n".join(rows) + "\n"


def _payloads(base: type[events.Payload]) -> list[type[events.Payload]]:
    found = []
    for payload in base.__subclasses__():
        if payload.__module__ != events.__name__:
            continue
        if "type" in vars(payload) and not events.is_internal(payload.type):
            found.append(payload)
        found += _payloads(payload)
    return found


def configuration() -> str:
    """Return the file that ``teamchat init`` writes."""
    return f"```toml\n{settings.sample()}```\n"


PAGES: dict[str, Callable[[], str]] = {
    "hooks.md": hooks,
    "events.md": event_types,
    "configuration.md": configuration,
}


def rendered(page: str) -> str:
    """Return a page as it should be: its written part, and the generated part made anew."""
    written, _, _ = (REFERENCE / page).read_text().partition(MARK)
    return written + MARK + "\n" + PAGES[page]()


if __name__ == "__main__":
    for page in PAGES:
        (REFERENCE / page).write_text(rendered(page))
