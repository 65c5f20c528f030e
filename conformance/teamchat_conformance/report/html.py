"""The report as one page that needs nothing else: no other file, no network.

Whatever a server has sent is text here and nothing but text; the page may load nothing, as its own policy
says; all of it can be read without its script, which only filters; and it is small enough for a phone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from string import Template

from teamchat_conformance.report.causes import Cause
from teamchat_conformance.report.document import Checked, Document, Played
from teamchat_conformance.report.html_check import MARKS, Detail, Timelines, body_of, pretty, shown
from teamchat_conformance.report.markup import Html, el, facts, joined
from teamchat_conformance.report.verdict import listed

_LEVELS = ("required", "recommended", "recorded")
_KINDS = (
    "pass", "note", "recorded", "fail", "error", "blocked", "not-exercised", "not-applicable", "skipped",
)  # fmt: skip
_DONE = ("pass", "note", "recorded")
MOST_BYTES = 600_000
_WITHOUT = Detail(0, 60, 0, 0)
# The first that keeps the page within its size is taken.
_DETAILS = (
    Detail(3, 1_500, 12, 160),
    Detail(2, 700, 6, 160),
    Detail(1, 500, 3, 80, 60),
    Detail(1, 300, 3, 80, 30),
    Detail(1, 200, 0, 0, 20),
    Detail(1, 40, 0, 0, 10),
)

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<a class="skip" href="#checks">To the checks</a>
<header>
<p class="what">Conformance of a team chat server</p>
<h1 class="$word">$says</h1>
<p class="who">$who</p>
$exceptions
<dl class="counts">$counts</dl>
</header>
<nav aria-label="Parts of the report"><a href="#causes">Causes</a>
<a href="#areas">Areas</a><a href="#checks">Checks</a>
<a href="#observations">Observations</a><a href="#runs">Runs</a></nav>
<main>
$failed
<section id="areas"><h2>Areas</h2>
$areas</section>
<section id="checks"><h2>Checks</h2>
<form class="filters" id="filters" hidden>$filters
<label>Search <input name="text" type="search" placeholder="id or text" autocomplete="off"></label>
<output id="shown" aria-live="polite"></output></form>
$checks</section>
<section id="observations"><h2>Observations</h2>
<p class="lead">What the server does where the specification is silent. None of it is right or wrong.</p>
$observations</section>
<section id="runs"><h2>Runs</h2>
$runs</section>
</main>
<footer>Written by teamchat-conformance $suite</footer>
<script>
$script
</script>
</body>
</html>
""")


def rendered(document: Document) -> str:
    """Return the page, of at most `MOST_BYTES` bytes unless what is said of each check needs more."""
    page = ""
    for detail in _DETAILS:
        page = _rendered(document, detail)
        if len(page.encode()) < MOST_BYTES:
            break
    return page


def _rendered(document: Document, detail: Detail) -> str:
    claim = document.claim
    return _PAGE.substitute(
        title=joined([f"{claim.says}: {claim.name}"]),
        style=_file("page.css"),
        script=_file("page.js"),
        word=claim.word,
        says=joined([claim.says[:1].upper() + claim.says[1:]]),
        who=_who(document),
        exceptions=_exceptions(claim.exceptions),
        counts=joined(_counts(document)),
        failed=_causes(document, detail),
        areas=_areas(document),
        filters=joined(_filters(document)),
        checks=joined(_checks(document, detail)),
        observations=_observations(document),
        runs=joined(_run(played) for played in document.profiles),
        suite=joined([document.suite_version]),
    )


def _who(document: Document) -> Html:
    claim = document.claim
    profiles = f" · {', '.join(claim.profiles)}" if claim.profiles else ""
    return joined([el("strong", claim.name), f" · {listed(claim.parts)} · {claim.suite}{profiles}"])


def _exceptions(exceptions: tuple[str, ...]) -> Html:
    if not exceptions:
        return Html()
    title = el("summary", "Not looked at, for the server does not declare it")
    return el("details", title, el("ul", (el("li", one) for one in exceptions)), class_="exceptions")


def _counts(document: Document) -> Iterator[Html]:
    for kind in _KINDS:
        if number := document.counts[kind]:
            yield el("div", el("dt", kind.replace("-", " ")), el("dd", str(number)), class_=kind)


def _causes(document: Document, detail: Detail) -> Html:
    """Return what to mend: the causes of what failed, that first which turns most checks green."""
    timelines = [Timelines(played) for played in document.profiles]
    failed = [one for one in document.causes if one.failed or _has_failed(document, one)]
    noted = [one for one in document.causes if one not in failed]
    if not document.causes:
        return el("section", el("h2", "What to mend"), el("p", "Nothing."), id="causes")
    items = (
        _cause(document, one, timelines, detail if number < detail.causes else _WITHOUT)
        for number, one in enumerate(failed)
    )
    lead = "Each once, with the exchange that shows it best, in order of how many checks it turns green."
    parts = [el("h2", "What to mend"), el("p", lead, class_="lead"), el("ol", items)]
    if noted:
        parts += [el("h3", "Accepted, with a note"), el("ul", (_noted(one) for one in noted))]
    return el("section", parts, id="causes")


def _has_failed(document: Document, cause: Cause) -> bool:
    return any(document.check(id).verdict in ("fail", "error") for id in (*cause.alone, *cause.partly))


def _cause(document: Document, cause: Cause, timelines: list[Timelines], detail: Detail) -> Html:
    check = document.check(cause.clearest)
    green = f"{len(cause.alone)} green, {cause.required} of them required"
    head = el("summary", el("strong", cause.title), " ", el("span", green, class_="level"))
    by = timelines[check.decided_by] if timelines else None
    return el("li", el("details", head, el("p", _links([check.id])), shown(document, check, by, detail),
                       _others(cause), open=cause.required > 0))  # fmt: skip


def _noted(cause: Cause) -> Html:
    return el("li", cause.title, ": ", _links((cause.clearest, *cause.others)))


def _others(cause: Cause) -> Html:
    return el("p", "It takes along: ", _links(cause.others), class_="along") if cause.others else Html()


def _links(ids: Sequence[str]) -> Html:
    return joined(part for id in ids for part in (el("a", el("code", id), href=f"#{id}"), " "))


def _areas(document: Document) -> Html:
    head = el("tr", (el("th", name, scope="col") for name in ("Area", "Verdicts", *_LEVELS)))
    return el("table", el("thead", head), el("tbody", _area_rows(document)), class_="areas")


def _area_rows(document: Document) -> Iterator[Html]:
    for area, found in groupby(document.checks, key=lambda check: check.area):
        checks = list(found)
        name = el("th", el("a", area, href=f"#area-{area}"), " ", el("span", checks[0].title), scope="row")
        yield el("tr", name, el("td", _bar(checks)), (el("td", _shown(checks, level)) for level in _LEVELS))


def _bar(checks: list[Checked]) -> Html:
    """Return the verdicts of an area as a bar, with the same in words for those who can't see it."""
    counted = Counter(check.verdict for check in checks)
    kinds = [kind for kind in _KINDS if counted[kind]]
    words = ", ".join(f"{counted[kind]} {kind}" for kind in kinds)
    parts = (el("i", class_=kind, style=f"flex-grow:{counted[kind]}") for kind in kinds)
    return el("span", parts, class_="bar", role="img", aria_label=words, title=words)


def _shown(checks: list[Checked], level: str) -> str:
    of_level = [check for check in checks if check.level == level]
    return f"{sum(check.verdict in _DONE for check in of_level)} / {len(of_level)}" if of_level else ""


def _filters(document: Document) -> Iterator[Html]:
    choices = {
        "area": dict.fromkeys(check.area for check in document.checks),
        "level": dict.fromkeys(_LEVELS),
        "verdict": dict.fromkeys(kind for kind in _KINDS if document.counts[kind]),
    }
    for name, values in choices.items():
        options = [el("option", "all", value=""), *(el("option", value) for value in values)]
        yield el("label", name.capitalize(), " ", el("select", options, name=name))


def _checks(document: Document, detail: Detail) -> Iterator[Html]:
    for area, found in groupby(document.checks, key=lambda check: check.area):
        checks = list(found)
        title = el("h3", area, " ", el("span", checks[0].title))
        folded = (_check(check, detail) for check in checks)
        yield el("section", title, folded, class_="area", id=f"area-{area}")


def _check(check: Checked, detail: Detail) -> Html:
    summary = el(
        "summary",
        el("span", _named(check.verdict), class_=f"mark {check.verdict}"),
        el("code", check.id),
        el("span", check.text, class_="text"),
        el("span", check.level, class_="level"),
    )
    return el(
        "details",
        summary,
        body_of(check, detail),
        class_="check",
        id=check.id,
        data_level=check.level,
        data_verdict=check.verdict,
        open=check.fails_run,
    )


def _observations(document: Document) -> Html:
    seen = [check for check in document.checks if check.verdict == "recorded"]
    if not seen:
        return el("p", "Nothing was recorded.")
    names = ("Check", "What was looked at", "What was seen")
    head = el("tr", (el("th", name, scope="col") for name in names))
    rows = (_observation(check) for check in seen)
    return el("table", el("thead", head), el("tbody", rows), class_="observations")


def _observation(check: Checked) -> Html:
    values = dict.fromkeys(pretty(told.value) for told in check.told if told.outcome == "recorded")
    name = el("th", el("a", check.id, href=f"#{check.id}"), scope="row")
    return el("tr", name, el("td", check.text), el("td", (el("pre", value) for value in values)))


def _run(played: Played) -> Html:
    told = {
        "run": played.run_id,
        "seed": str(played.seed),
        "requests": str(played.requests),
        "seconds": f"{played.seconds:.1f}",
        "streams": str(len(played.streams)),
        "answers 429": str(played.refused_for_rate or ""),
        "left on the server": ", ".join(played.left_over),
    }
    return el(
        "article",
        el("h3", played.profile or "one profile"),
        facts(told.items()),
        _folded("Description of the server", pretty(played.instance)),
        _folded("What the server wrote last", played.server_output),
        class_="run",
    )


def _folded(title: str, text: str) -> Html:
    return el("details", el("summary", title), el("pre", text)) if text else Html()


def _named(kind: str) -> str:
    return f"{MARKS[kind]} {kind.replace('-', ' ')}"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8").strip()
