"""What a run found, told in every form: terminal, JSON, JUnit, HTML, badge.

No form says more than another, and none holds a secret or anything of other people's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from teamchat_conformance.registry import Registry
from teamchat_conformance.report import badge, html, junit, results_json, terminal
from teamchat_conformance.report.document import Document, compose
from teamchat_conformance.runner import Result

__all__ = ["FORMATS", "Document", "compose", "save", "terminal", "write"]

_FILES: dict[str, dict[str, Callable[[Document], str]]] = {
    "json": {"results.json": results_json.rendered},
    "junit": {"junit.xml": junit.rendered},
    "html": {"report.html": html.rendered},
    "badge": {"badge.svg": badge.as_svg, "badge.json": badge.as_json},
}

FORMATS = tuple(_FILES)
"""The forms that are files."""


def write(
    results: Sequence[Result],
    registry: Registry,
    directory: Path,
    formats: Iterable[str] = FORMATS,
    *,
    strict: bool = False,
) -> Document:
    """Write the report of these runs into a directory, and return it. `ValueError` for another form."""
    document = compose(results, registry, strict=strict)
    save(document, directory, formats)
    return document


def save(document: Document, directory: Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write a report that is made already, and return the files."""
    wanted = list(formats)
    if unknown := sorted(set(wanted) - set(FORMATS)):
        raise ValueError(
            f"no form of the report is called {', '.join(unknown)}; there are {', '.join(FORMATS)}"
        )
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, rendered in (pair for one in wanted for pair in _FILES[one].items()):
        path = directory / name
        path.write_text(rendered(document), "utf-8")
        written.append(path)
    return written
