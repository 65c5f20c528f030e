"""The report as one tree of plain data, from which every form of it is made.

Everything in here has gone through the `Cleaner`; whoever writes a form of the report
looks at nothing else.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from teamchat_conformance import __version__
from teamchat_conformance.http import Exchange
from teamchat_conformance.registry import NEEDS, Registry
from teamchat_conformance.report.causes import Cause, Failure, Request, causes
from teamchat_conformance.report.cleaning import Cleaner
from teamchat_conformance.report.verdict import Claim, Merged, claim_of, counts, merged
from teamchat_conformance.runner import Result
from teamchat_conformance.sse import Observer
from teamchat_conformance.verdicts import Finding

SCHEMA_VERSION = 2
_MOST_OF_A_GOOD_BODY = 2_000
_MOST_OUTPUT = 20_000
SHOWN_WHOLE = ("fail", "error", "blocked", "note")


@dataclass(frozen=True)
class Sent:
    """One exchange, as it may be shown. Times are in seconds of the run."""

    number: int
    scenario: str
    actor: str
    method: str
    target: str
    request_headers: list[tuple[str, str]]
    request_body: str
    started: float
    ended: float
    status: int
    headers: list[tuple[str, str]]
    body: str
    failure: str


@dataclass(frozen=True)
class Heard:
    """One event, as one observer got it."""

    at: float
    type: str
    payload: Any


@dataclass(frozen=True)
class Stream:
    """One stream that was open in a run."""

    observer: str
    status: int
    ended: float | None
    events: list[Heard]


@dataclass(frozen=True)
class Told:
    """What one profile had to say about a check. `failing` numbers the exchange that showed it, if not 0."""

    profile: str
    outcome: str
    message: str
    exchanges: list[int]
    value: Any
    failing: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Checked:
    """One check and what came of it. `decided_by` is the number of the profile that decided, from 0."""

    id: str
    area: str
    title: str
    level: str
    spec: str
    text: str
    words: list[str]
    needs: list[str]
    is_monitored: bool
    verdict: str
    fails_run: bool
    is_warning: bool
    message: str
    decided_by: int
    told: list[Told]

    @property
    def decisive(self) -> Told | None:
        """What the profile that decided had to say."""
        return self.told[self.decided_by] if self.told else None


@dataclass(frozen=True)
class Played:
    """One run against one instance."""

    profile: str
    run_id: str
    seed: int
    seconds: float
    instance: dict[str, Any]
    requests: int
    refused_for_rate: int
    left_over: list[str]
    server_output: str
    exchanges: list[Sent]
    streams: list[Stream]
    capabilities: dict[str, Any]
    """Each that is announced: its version, and how often which endpoint was asked and which event came."""

    @property
    def base_url(self) -> str:
        """The address that was asked."""
        return str(self.instance["instance"]["base_url"])

    def exchange(self, number: int) -> Sent | None:
        """Return an exchange by its number."""
        return self.exchanges[number - 1] if 0 < number <= len(self.exchanges) else None


@dataclass(frozen=True)
class Document:
    """The whole report."""

    schema_version: int
    suite_version: str
    python: str
    claim: Claim
    counts: dict[str, int]
    passed: int
    failed: int
    skipped: int
    warnings: int
    seconds: float
    checks: list[Checked]
    profiles: list[Played]
    causes: list[Cause]

    def check(self, id: str) -> Checked:
        """Return a check by its id. Raises `StopIteration` if there is none."""
        return next(one for one in self.checks if one.id == id)

    def played(self, check: Checked) -> Played | None:
        """Return the run that decided a check."""
        return self.profiles[check.decided_by] if self.profiles else None


def compose(results: Sequence[Result], registry: Registry, *, strict: bool = False) -> Document:
    """Make the report of these runs. With `strict`, warnings fail the run."""
    everything = merged(results, registry)
    cleaners = [Cleaner(result) for result in results]
    titles = {id: area.title for area in registry.areas for id in area.checks}
    monitored = {id for area in registry.areas for id in area.monitored}
    checks = [
        _checked(one, results, cleaners, titles[one.check.id], one.check.id in monitored, strict=strict)
        for one in everything.values()
    ]
    profiles = [_played(result, cleaner, registry) for result, cleaner in zip(results, cleaners, strict=True)]
    failed = sum(check.fails_run for check in checks)
    warnings = sum(check.is_warning and not check.fails_run for check in checks)
    passed = sum(not check.fails_run and check.verdict in ("pass", "note", "recorded") for check in checks)
    return Document(
        SCHEMA_VERSION,
        __version__,
        platform.python_version(),
        claim_of(results, everything.values(), registry),
        counts(everything.values()),
        passed,
        failed,
        sum(check.verdict in ("blocked", "not-exercised", "not-applicable", "skipped") for check in checks),
        warnings,
        sum(result.seconds for result in results),
        checks,
        profiles,
        causes(_failure(check, profiles) for check in checks),
    )


def _failure(check: Checked, profiles: Sequence[Played]) -> Failure:
    """Return what is to be known of a check in order to find its cause."""
    told = check.decisive
    sent = profiles[check.decided_by].exchange(told.failing) if told and profiles else None
    asked = Request(sent.method, sent.target, sent.request_body, sent.status) if sent else None
    number = len(told.exchanges) if told else 0
    return Failure(check.id, check.level, check.spec, check.text, check.verdict, check.message, asked, number)


def _checked(
    one: Merged, results: Sequence[Result], cleaners: Sequence[Cleaner], title: str, is_monitored: bool,
    *, strict: bool,
) -> Checked:  # fmt: skip
    check = one.check
    told = [
        _told(
            result.profile, result.findings.get(check.id) or Finding(check.id, "skipped", "not run"), cleaner
        )
        for result, cleaner in zip(results, cleaners, strict=True)
    ]
    return Checked(
        check.id, check.area, title, check.level, check.spec, check.text, list(check.words),
        [NEEDS.get(need, need) for need in check.needs], is_monitored, one.verdict,
        one.fails_run(strict=strict), one.is_warning,
        told[one.profile].message if told else one.finding.message, one.profile, told,
    )  # fmt: skip


def _told(profile: str, finding: Finding, cleaner: Cleaner) -> Told:
    exchanges = sorted({number for number in (*finding.exchanges, finding.failing) if number > 0})
    return Told(
        profile, finding.outcome, cleaner.text(finding.message), exchanges, cleaner.value(finding.value),
        finding.failing, round(finding.seconds, 4),
    )  # fmt: skip


def _played(result: Result, cleaner: Cleaner, registry: Registry) -> Played:
    shown_whole = _numbers(finding for finding in result.findings.values() if finding.outcome in SHOWN_WHOLE)
    exchanges = [_sent(one, cleaner, is_whole=one.number in shown_whole) for one in result.recorder.exchanges]
    return Played(
        result.profile,
        result.run_id,
        result.options.seed,
        result.seconds,
        cleaner.instance(result.instance),
        len(exchanges),
        sum(one.status == 429 for one in exchanges),
        [cleaner.text(what) for what in result.left_over],
        cleaner.output(result.server_output[-_MOST_OUTPUT:]),
        exchanges,
        [_stream(observer, cleaner) for observer in result.observers],
        {name: _coverage(name, result, registry) for name in sorted(result.announced.capabilities)},
    )


def _coverage(capability: str, result: Result, registry: Registry) -> dict[str, Any]:
    """Return the version of a capability, and how often its endpoints were asked and its events came."""
    areas = [area for area in registry.areas if area.capability == capability]
    endpoints = [one for area in areas for one in area.endpoints]
    asked = Counter(
        one.name
        for exchange in result.recorder.exchanges
        for one in endpoints
        if one.method == exchange.method and one.fits(exchange.target.partition("?")[0])
    )
    heard = Counter(event.type for observer in result.observers for event in observer.events)
    return {
        "version": result.announced.version(capability),
        "endpoints": {one.name: asked[one.name] for one in endpoints},
        "events": {one.name: heard[one.name] for area in areas for one in area.events},
    }


def _numbers(findings: Iterable[Finding]) -> set[int]:
    return {number for finding in findings for number in (*finding.exchanges, finding.failing)}


def _sent(exchange: Exchange, cleaner: Cleaner, *, is_whole: bool) -> Sent:
    headers = cleaner.headers(exchange.headers)
    media_type = next((value for name, value in headers if name.lower() == "content-type"), "")
    body = cleaner.got(exchange.body, media_type.partition(";")[0].strip().lower())
    request_body = cleaner.sent(exchange.request_body)
    return Sent(
        exchange.number,
        exchange.scenario,
        exchange.actor,
        exchange.method,
        cleaner.target(exchange.target),
        cleaner.headers(exchange.request_headers),
        request_body if is_whole else _cut(request_body),
        round(exchange.started, 4),
        round(exchange.ended, 4),
        exchange.status,
        headers,
        body if is_whole else _cut(body),
        exchange.failure,
    )


def _stream(observer: Observer, cleaner: Cleaner) -> Stream:
    events = [Heard(round(event.at, 4), *cleaner.event(event)) for event in observer.events]
    ended = None if observer.ended_at is None else round(observer.ended_at, 4)
    return Stream(observer.name, observer.status, ended, events)


def _cut(text: str) -> str:
    if len(text) <= _MOST_OF_A_GOOD_BODY:
        return text
    return f"{text[:_MOST_OF_A_GOOD_BODY]}… ({len(text)} characters)"
