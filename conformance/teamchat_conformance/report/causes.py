"""What is not as it should be, by cause: one fault of a server fails many checks, and is mended once.

A cause is known by its title, which `RULES` make from a check's message and the exchange that showed the
fault; the first that knows a failure names it.  What a monitor found has a cause for each thing it lists.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from teamchat_conformance.endpoints import Endpoint, find

_BAD = ("fail", "error", "note")
_LISTED = re.compile(r"\d+ of \d+: ")
_STATUSES = re.compile(r"expected (?P<wanted>\d{3})(?: or \d{3})*(?: for [^;]*)?; got (?P<got>\d{3})\b")
_GRADED = re.compile(
    r"(?P<method>[A-Z]+) (?P<target>/\S*): (?P<got>\d{3}) where (?P<wanted>\d{3})\b.* strict"
)
_PERMITTED = re.compile(r"is to be refused; (?P<method>[A-Z]+) (?P<target>/\S*) by .*; got 200")
_DECISION = re.compile(r"\bD-\d{2}[a-z]?\b")
_FIELD = re.compile(r"the body(?P<path>[\w.\[\]]*) (?:has no (?P<missing>\w+)|should be )")

_MATTERS = tuple(
    (re.compile(pattern), title)
    for pattern, title in (
        (r"^[^;]*\b(?:id: line|missed events|events missed|RESYNC)", "Streams can't be resumed (D-34)"),
        (r"\breactions (?:are|is|were lost)\b|[Tt]he reaction .* is another|acknowledged reactions: [1-9]",
         "The map of reactions is another than from each reaction to the ids of those who gave it"),
        (r"updatedAt is \d+.*never edited|no updatedAt|set updatedAt",
         "updatedAt of a message that was never edited is not null"),
        (r"oldest first|newest first|has no order", "Pages have another order"),
        (r"tells createdAt", "The current user is answered with createdAt"),
        (r"outlives its session|refresh token is the same", "Tokens live on when they should have ended"),
        (r"refused and yet changed|though (?:they|it|their password) w(?:ere|as) refused",
         "What is refused is done all the same"),
        (r"threadMeta|replyCount|lastReplyAt", "threadMeta is not what the thread is"),
        (r"stream was still open", "Streams that should have ended stay open"),
        (r", no id\b|should be any text", "A field that is no text is taken"),
        (r'expected \{"error": text\}|expected application/json|without the text error|other fields than one'
         r"|answers [45]\d\d (?:as|with no JSON)", "Errors are no JSON object with the one text error"),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """What is to be known of the exchange that showed a fault."""

    method: str
    target: str
    body: str
    status: int

    @property
    def endpoint(self) -> Endpoint | None:
        """The endpoint it is for."""
        return find(self.method, self.target)

    @property
    def name(self) -> str:
        """The endpoint as the interface writes it, or what was asked for."""
        return self.endpoint.name if self.endpoint else f"{self.method} {self.target.partition('?')[0]}"


@dataclass(frozen=True)
class Failure:
    """A check that is not as it should be. `exchanges` is how many there are to read."""

    id: str
    level: str
    spec: str
    text: str
    outcome: str
    message: str
    request: Request | None
    exchanges: int = 0


@dataclass(frozen=True)
class Cause:
    """One thing to mend. Mended, it turns the checks `alone` green, and helps those of `partly`.

    `clearest` is the check whose exchange shows it best; `failed` is how many of `alone` have failed, and
    `required` how many of those are required.
    """

    title: str
    clearest: str
    alone: tuple[str, ...]
    partly: tuple[str, ...]
    required: int
    failed: int

    @property
    def others(self) -> tuple[str, ...]:
        """The checks that it takes along."""
        return tuple(id for id in (*self.alone, *self.partly) if id != self.clearest)


def causes(failures: Iterable[Failure]) -> list[Cause]:
    """Return the causes of these failures, that first which turns most green when it is mended."""
    of_title: dict[str, list[Failure]] = defaultdict(list)
    titles: dict[str, tuple[str, ...]] = {}
    for one in failures:
        if one.outcome in _BAD:
            titles[one.id] = tuple(dict.fromkeys(_titles(one)))
            for title in titles[one.id]:
                of_title[title].append(one)
    found = [_cause(title, of_title[title], titles) for title in of_title]
    return sorted(found, key=lambda one: (-one.required, -one.failed, -len(one.alone), -len(one.partly)))


def _cause(title: str, members: Sequence[Failure], titles: dict[str, tuple[str, ...]]) -> Cause:
    alone = [one for one in members if titles[one.id] == (title,)]
    failed = [one for one in alone if one.outcome != "note"]
    return Cause(
        title,
        min(members, key=_unclearness).id,
        tuple(one.id for one in alone),
        tuple(one.id for one in members if titles[one.id] != (title,)),
        sum(one.level == "required" for one in failed),
        len(failed),
    )


def _unclearness(one: Failure) -> tuple[bool, bool, bool, bool, int, int]:
    """Order failures: those come first that failed, are required, say what was sent, and are short."""
    has_sentence = "; got " in one.message
    size = len(one.request.body) if one.request else 0
    is_listed, is_noted = bool(_LISTED.match(one.message)), one.outcome == "note"
    return is_noted, is_listed, one.level != "required", not has_sentence, one.exchanges, size


def _titles(one: Failure) -> list[str]:
    """Return the titles of its causes; what is known of none is a cause of its own."""
    listed = _LISTED.match(one.message)
    items = one.message[listed.end() :].split("; ") if listed else []
    told = [replace(one, message=item, request=None) for item in items] or [one]
    # The last item of a long list is cut off, and known by no rule.
    return list(filter(None, map(_title, told))) or [one.text]


def _title(one: Failure) -> str:
    return next(filter(None, (rule(one) for rule in RULES)), "")


def _server_errors(one: Failure) -> str:
    """Answers of 500: what the same endpoint fails at is one fault."""
    if found := re.match(r"(?P<name>[A-Z]+ /\S*) answers 5\d\d\Z", one.message):
        return f"{found['name']} fails with 500"
    is_one = one.request is not None and one.request.status >= 500
    return f"{one.request.name} fails with 500" if one.request and is_one else ""


def _matters(one: Failure) -> str:
    """What the message says is wrong, wherever it was seen."""
    if one.outcome == "note":
        return ""
    said = one.message.partition("; got ")[0]
    return next((title for pattern, title in _MATTERS if pattern.search(said)), "")


def _events(one: Failure) -> str:
    """An event that does not come, or comes to whom it should not."""
    if found := re.search(r"(?:was told: |an outsider, got )(?P<type>[A-Z_]+)", one.message):
        return f"{found['type']} reaches who takes no part"
    if found := re.search(r"\bno (?P<type>[A-Z]+_[A-Z_]+)\b.* within ", one.message):
        return f"{found['type']} does not come"
    return ""


def _malformed_bodies(one: Failure) -> str:
    """A body that is not what the endpoint asks for, and was taken."""
    asked = one.request
    endpoint = asked.endpoint if asked else None
    if (
        asked is None
        or endpoint is None
        or asked.status != 200
        or endpoint.is_well_formed(asked.body.encode())
    ):
        return ""
    if not re.search(r"expected (?:4\d\d|a refusal)", one.message):
        return ""
    try:
        told = json.loads(asked.body)
    except (ValueError, RecursionError):
        return "A body that is no JSON is taken"
    if not isinstance(told, dict):
        return "A body that is no object is taken"
    given = [told[field.name] for field in endpoint.fields if field.name in told]
    is_other = any(not isinstance(value, str) for value in given)
    return "A field that is no text is taken" if is_other else "A field that is missing or empty is taken"


def _statuses(one: Failure) -> str:
    """One status where another is wanted."""
    found = _STATUSES.search(one.message) or _GRADED.match(one.message)
    if found is None:
        permitted = _PERMITTED.search(one.message)
        asked = permitted and Request(permitted["method"], permitted["target"], "", 200)
        return f"{asked.name} takes what is to be refused with 403" if asked else ""
    wanted, got = found["wanted"], found["got"]
    if wanted[0] == got[0] == "4":
        return f"{got} is answered where it is to be {wanted}"
    graded = found.groupdict()
    asked = one.request or (
        Request(graded["method"], graded["target"], "", 0) if "method" in graded else None
    )
    where = asked.name if asked else "The server"
    decision = _DECISION.search(one.spec)
    why = f" ({decision[0]})" if decision else ""
    if got[0] == "2" and wanted[0] == "4":
        return f"{where} takes what is to be refused with {wanted}{why}"
    if wanted[0] == "2" and got[0] == "4":
        return f"{where} refuses with {got} what is to be taken{why}"
    return f"{where} answers {got} where it is to be {wanted}{why}"


def _fields(one: Failure) -> str:
    """A field of an answer that is missing, or another."""
    found = _FIELD.search(one.message)
    if found is None or one.request is None:
        return ""
    path = re.sub(r"\[\d+\]", "[]", found["path"]).lstrip(".")
    names = ".".join(filter(None, (path, found["missing"])))
    return f"{one.request.name}: {names or 'the answer'} is not as it should be"


RULES: tuple[Callable[[Failure], str], ...] = (
    _server_errors, _matters, _events, _malformed_bodies, _statuses, _fields,
)  # fmt: skip
