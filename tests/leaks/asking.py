"""Asking all questions about something hidden, and comparing each answer with that about nothing.

Two answers are the same if they are so byte for byte, but for what was asked for, the time, and the ids of
what a question has made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from teamchat.web.endpoints import Endpoint
from tests.leaks.by_design import KNOWN_TO_EXIST, TOLD
from tests.leaks.parameters import ROOM, name_of, parameters_of
from tests.leaks.questions import HIDDEN, Ids, Question, questions, variants
from tests.leaks.things import Asker, Hidden, send
from tests.web.client import Answer

_TIME = re.compile(rb"(?<![0-9a-f])[0-9]{13}(?![0-9a-f])")
_ID = re.compile(rb"[0-9a-f]{32}")
_POSITION = re.compile(rb'"(asOf|mark)":"[0-9.]+(?:<time>)?"')  # of the whole server
_UNLIKE = {"date", "x-request-id"}


class Told(NamedTuple):
    """What an answer tells: all of it, but for what differs whatever is asked."""

    status: int
    headers: tuple[tuple[str, bytes], ...]
    body: bytes


@dataclass
class Report:
    """What came of asking: how many questions, and the answers that differ.

    `answered` are parameters of endpoints, each by its endpoint, by which who sees the hidden thing was given
    what they asked for: about these the questions are no empty ones.
    """

    asked: int = 0
    differences: list[str] = field(default_factory=list)
    answered: set[tuple[str, str]] = field(default_factory=set)


async def ask_everything(thing: Hidden, endpoints: Sequence[Endpoint]) -> Report:
    """Ask whatever the endpoints can be asked about a hidden thing; at the end, also who may see it."""
    report = Report()
    seen_before = await pages(thing, endpoints)
    for asker in thing.askers:
        assert all((thing.name, key) in KNOWN_TO_EXIST for key in asker.stand_ins)
        for endpoint in endpoints:
            if asker.only is not None and name_of(endpoint) not in asker.only:
                continue
            if (asker.name, name_of(endpoint)) in TOLD:
                continue
            for question in all_questions(asker, thing, endpoint):
                await _compare(asker, thing, question, report)
    seen_after = await pages(thing, endpoints)
    report.differences += [
        f"{thing.name}: asking has left a trace in {request}"
        for request, told in seen_before.items()
        if told != seen_after[request]
    ]
    report.answered = await _answered(thing, endpoints)
    return report


def all_questions(asker: Asker, thing: Hidden, endpoint: Endpoint) -> Iterator[Question]:
    """Yield every question of somebody to an endpoint."""
    for question in questions(endpoint, asker.ids(endpoint, thing)):
        yield question
        if question.is_wholly_hidden:
            yield from variants(question, thing.keys, thing.etags)


async def pages(thing: Hidden, endpoints: Sequence[Endpoint]) -> dict[str, Told]:
    """Return all that can be read of a hidden thing by who sees it."""
    read = {}
    for endpoint in endpoints:
        if endpoint.method == "GET":
            for question in questions(endpoint, Ids(thing.ids, {}, {}, thing.fitting)):
                if question.is_wholly_hidden:
                    answer = await send(thing.reader.client, question.hidden)
                    read[question.hidden.target] = told(answer, {}, set())
    return read


def told(answer: Answer, swapped: Mapping[str, str], known: set[str]) -> Told:
    """Return what an answer tells; `known` are the ids that there were before the question."""

    def plain(data: bytes) -> bytes:
        for number, pair in enumerate(swapped.items()):
            for value in pair:
                data = data.replace(value.encode(), b"<%d>" % number)
        data = _POSITION.sub(rb'"\1":"<position>"', _TIME.sub(b"<time>", data))
        return _ID.sub(lambda found: found[0] if found[0].decode() in known else b"<new>", data)

    unlike = _UNLIKE | {"content-length"} if _POSITION.search(answer.body) else _UNLIKE
    headers = [(name, plain(value.encode())) for name, value in answer.raw_headers if name not in unlike]
    return Told(answer.status, tuple(sorted(headers)), plain(answer.body))


async def _compare(asker: Asker, thing: Hidden, question: Question, report: Report) -> None:
    known = thing.all_ids() | {*asker.channel.values(), *asker.conversation.values()}
    of_hidden = told(await send(asker.client, question.hidden), question.swapped, known)
    of_nobodys = told(await send(asker.client, question.nobodys), question.swapped, known)
    report.asked += 1
    if of_hidden != of_nobodys:
        report.differences.append(
            f"{asker.name} asks about {thing.name}: {question}\n"
            f"  is told  {of_hidden}\n  not      {of_nobodys}"
        )


async def _answered(thing: Hidden, endpoints: Sequence[Endpoint]) -> set[tuple[str, str]]:
    """Ask as who sees the thing; it is changed by that, and at last gone."""
    found: set[tuple[str, str]] = set()
    for endpoint in sorted(endpoints, key=_harm):
        if _ends_a_room(endpoint) and thing.ended_by not in ("", name_of(endpoint)):
            continue
        for question in questions(endpoint, Ids(thing.ids, {}, {}, thing.fitting)):
            wanted = {(name_of(endpoint), key) for key, state in question.states.items() if state == HIDDEN}
            if not question.is_wholly_hidden or wanted <= found:
                continue
            if (await send(thing.reader_of(endpoint), question.hidden)).status < 400:
                found |= wanted
    return found


def _harm(endpoint: Endpoint) -> tuple[int, int, bool, int]:
    """Return what sorts endpoints so that what is asked for later is there still: rooms are deleted last."""
    ends = [one.kind for one in parameters_of(endpoint) if endpoint.rule.endswith(f"<{one.name}>")]
    methods = ("OPTIONS", "HEAD", "GET", "PATCH", "PUT", "POST", "DELETE")
    return methods.index(endpoint.method), _late(endpoint), ROOM in ends, -len(endpoint.rule)


def _ends_a_room(endpoint: Endpoint) -> bool:
    named = [one.kind for one in parameters_of(endpoint) if endpoint.rule.endswith(f"<{one.name}>")]
    return endpoint.method == "DELETE" and ROOM in named


def _late(endpoint: Endpoint) -> int:
    """Return when what takes something away is asked for, so that it is given back before the end."""
    steps = ("/convert", "/archive", "/leave", "/enter", "/unarchive")
    return 1 + next((at for at, step in enumerate(steps) if endpoint.rule.endswith(step)), -1)
