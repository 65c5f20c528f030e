"""The report on a terminal: the claim, what failed and how to see it again, the counts."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from teamchat_conformance.endpoints import find
from teamchat_conformance.registry import Registry
from teamchat_conformance.report.causes import Cause
from teamchat_conformance.report.document import Checked, Document, Sent, compose
from teamchat_conformance.report.transcript import (
    brief,
    curl,
    cut,
    failing,
    request_text,
    response_text,
    sent_line,
    taken_apart,
    telling,
)
from teamchat_conformance.report.verdict import counted
from teamchat_conformance.runner import Result

_WIDTH = 100
_MOST_BODY = 400
_MOST_MESSAGE = 700
_MOST_EXCHANGES = 1
_MOST_VERBOSE = 4
_MOST_TO_MEND = 20
_COUNTED = (
    ("pass", "passed"), ("note", "accepted with a note"), ("fail", "failed"), ("recorded", "recorded"),
    ("blocked", "blocked"), ("error", "faults of the suite"), ("not-exercised", "not exercised"),
    ("not-applicable", "not applicable"), ("skipped", "deselected"),
)  # fmt: skip
_REFUSED = re.compile(r"(?P<method>[A-Z]+) (?P<target>/\S*)(?: by .*)?: .*; got (?P<status>\d{3})\b")
_STYLES = {"bold": "1", "dim": "2", "fail": "31", "warn": "33", "good": "32"}


def summary(
    results: Sequence[Result],
    registry: Registry,
    *,
    verbose: bool = False,
    strict: bool = False,
    colour: bool = False,
    directory: Path | None = None,
) -> str:
    """Return what is printed when everything has run. `directory` is where the report lies."""
    return told(
        compose(results, registry, strict=strict), verbose=verbose, colour=colour, directory=directory
    )


def told(
    document: Document, *, verbose: bool = False, colour: bool = False, directory: Path | None = None
) -> str:
    """Return the same of a report that is made already."""
    return "\n".join(_lines(document, verbose, _Paint(colour), directory)) + "\n"


class _Paint:
    """Colours, if there are to be any."""

    def __init__(self, is_on: bool) -> None:
        self._is_on = is_on

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._is_on else text


def _lines(document: Document, verbose: bool, paint: _Paint, directory: Path | None) -> Iterator[str]:
    claim = document.claim
    style = {"conforming": "good", "non-conforming": "fail"}.get(claim.word, "warn")
    yield paint(style, claim.says) + claim.head.removeprefix(claim.says)
    yield from (paint("dim", line) for line in textwrap.wrap(claim.tail, _WIDTH))
    for check in (one for one in document.checks if verbose and one.verdict == "recorded"):
        yield ""
        yield from _check(document, check, verbose, paint)
    yield from _blocked(document, paint)
    told = [one for one in document.causes if one.failed or verbose or _fails_run(document, one)]
    for number, cause in reversed(list(enumerate(told, 1))):
        yield ""
        yield from _cause(document, cause, number, verbose, paint)
    if told:
        yield ""
        yield from _fix_list(told, paint)
    yield ""
    yield from _left_over(document)
    yield ", ".join(f"{document.counts[key]} {name}" for key, name in _COUNTED if document.counts[key])
    if document.warnings:
        yield f"{counted(document.warnings, 'warning')}, for which nothing fails but with --strict"
    runs = ", ".join(f"{one.profile} {one.seed}".strip() for one in document.profiles)
    yield paint(
        "dim",
        f"{sum(one.requests for one in document.profiles)} requests in {document.seconds:.0f} s, seed {runs}",
    )
    if directory is not None:
        yield f"report: {directory}"
    yield f"{document.passed} passed, {document.failed} failed, {document.skipped} skipped"


def _fails_run(document: Document, cause: Cause) -> bool:
    """Return whether the run fails for one of the checks of a cause."""
    return any(document.check(id).fails_run for id in (cause.clearest, *cause.others))


def _blocked(document: Document, paint: _Paint) -> Iterator[str]:
    """Tell what could not be decided, by what was in the way; what is in the way of most comes first."""
    ways: dict[str, list[Checked]] = {}
    for check in document.checks:
        if check.verdict == "blocked":
            ways.setdefault(_obstacle(check.message), []).append(check)
    for checks in sorted(ways.values(), key=len, reverse=True):
        yield ""
        yield f"{paint('warn', 'BLOCKED')} {counted(len(checks), 'check')}"
        yield from _field("checks", " ".join(check.id for check in checks))
        yield from _field("by", cut(checks[0].message, _MOST_MESSAGE))


def _obstacle(message: str) -> str:
    """Return what was in the way, whoever asked and whatever for: an endpoint that answers a status."""
    found = _REFUSED.match(message)
    endpoint = find(found["method"], found["target"]) if found else None
    return f"{endpoint.name} {found['status']}" if endpoint and found else message


def _cause(document: Document, cause: Cause, number: int, verbose: bool, paint: _Paint) -> Iterator[str]:
    """Tell a cause: what it is, the check that shows it best, and which others it fails."""
    yield paint("bold", f"{number}. {cause.title}")
    yield from _check(document, document.check(cause.clearest), verbose, paint)
    yield from _field("also", " ".join(cause.others))


def _fix_list(told: Sequence[Cause], paint: _Paint) -> Iterator[str]:
    """Tell what to mend first: that which turns most checks green."""
    yield paint("bold", "What to mend, and how many checks that turns green (required of them)")
    for number, cause in list(enumerate(told, 1))[:_MOST_TO_MEND]:
        count = f"{len(cause.alone)} ({cause.required})"
        yield f"{number:4}. {count:>8}  {cut(cause.title, _WIDTH)}"
    if len(told) > _MOST_TO_MEND:
        yield f"      and {len(told) - _MOST_TO_MEND} more, above"


def _check(document: Document, check: Checked, verbose: bool, paint: _Paint) -> Iterator[str]:
    word = check.verdict.upper()
    style = "fail" if check.fails_run else "warn" if check.verdict != "recorded" else "dim"
    played = document.played(check)
    profile = f"  in {played.profile}" if played and played.profile else ""
    yield f"{paint(style, word)} {paint('bold', check.id)}  {check.level}, {check.spec}{profile}"
    yield from _field("check", check.text)
    if check.verdict == "recorded":
        yield from _field("seen", brief(check.decisive.value if check.decisive else None, _MOST_MESSAGE))
        return
    said = taken_apart(check.message)
    failed = failing(played, check) if played else None
    yield from _field("words", cut(check.words[0], _MOST_MESSAGE) if check.words else "")
    yield from _field("sent", sent_line(failed) if failed else said.sent)
    yield from _field("wanted", said.wanted)
    yield from _field("got", cut(said.got, _MOST_MESSAGE))
    if played is None or not (check.fails_run or verbose):
        return
    shown = telling(played, check)
    for sent in shown[: _MOST_VERBOSE if verbose else _MOST_EXCHANGES]:
        yield from _exchange(sent, paint)
    if shown and (line := curl(shown[0], played.base_url)):
        yield from _field("repeat", line, is_wrapped=False)


def _exchange(sent: Sent, paint: _Paint) -> Iterator[str]:
    yield paint("dim", f"  #{sent.number} by {sent.actor}, in {sent.scenario}")
    for mark, text in (
        (">", request_text(sent, _MOST_BODY, is_brief=True)),
        ("<", response_text(sent, _MOST_BODY, is_brief=True)),
    ):
        for line in text.splitlines():
            yield paint("dim", f"  {mark} {_printable(cut(line, 2 * _MOST_BODY))}")


def _field(name: str, text: str, *, is_wrapped: bool = True) -> Iterator[str]:
    if not text:
        return
    lines = textwrap.wrap(_printable(text), _WIDTH - 10, break_on_hyphens=False) if is_wrapped else [text]
    for n, line in enumerate(lines):
        yield f"  {name if n == 0 else '':7} {line}"


def _left_over(document: Document) -> Iterator[str]:
    for one in document.profiles:
        if one.left_over:
            yield f"left on the server: {', '.join(one.left_over)}"
        if one.refused_for_rate:
            yield f"{one.refused_for_rate} answers of status 429"


def _printable(text: str) -> str:
    """Return a text that does nothing to a terminal."""
    return "".join(c if c.isprintable() else " " if c in "\n\t" else "\ufffd" for c in text)
