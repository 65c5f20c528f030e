"""Questions, made from the declarations of the endpoints: each about something hidden, and about nothing.

An endpoint that takes an id is asked with every id of the hidden thing that it could mean, with all its ids
hidden and with some of them the asker's own, with bodies that fit and with bodies that don't, and in the ways
that HTTP knows of asking without asking: ``HEAD``, ``If-None-Match``, ``Range``, ``Idempotency-Key``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from teamchat.web.endpoints import Endpoint
from tests.leaks.parameters import (
    Parameter,
    flags_of,
    name_of,
    needed_bodies,
    needed_headers,
    parameters_of,
)
from tests.leaks.world import REFUSED_BY_A_FILTER
from tests.pictures import PNG

Headers = tuple[tuple[str, str], ...]

HIDDEN, OWN, NOBODYS, ABSENT = "hidden", "the asker's own", "nobody's", "absent"

_POSITION = "f" * 32
_FITTING: Mapping[str, Any] = {
    "content": "hello",
    "reaction": "👍",
    "filename": "a.png",
    "image": PNG,
    "position": _POSITION,
    "from": _POSITION,
}
"""What fields of bodies hold; any other that is needed holds a word."""
_JSON = ("content-type", "application/json")
_BAD_BODIES: Mapping[str, tuple[bytes, Headers]] = {
    "a malformed body": (b'{"content": "hel', (_JSON,)),
    "no body": (b"", ()),
    "a body that is no object": (b"[]", (_JSON,)),
    "fields of the wrong type": (b'{"content": 1, "reaction": 1, "name": 1, "image": 1}', (_JSON,)),
    "a body that is too large": (b'{"content": "' + b"a" * 300 * 1024 + b'"}', (_JSON,)),
    "an encoded body": (b"{}", (_JSON, ("content-encoding", "gzip"))),
    "a blank text": (b'{"content": " ", "reaction": " ", "name": " "}', (_JSON,)),
    "a text that a filter refuses": (json.dumps({"content": REFUSED_BY_A_FILTER}).encode(), (_JSON,)),
}


_OTHERS = str.maketrans("0123456789abcdef", "123456789abcdef0")


class Request(NamedTuple):
    """One request, but for who sends it."""

    method: str
    target: str
    raw: bytes | None = None
    headers: Headers = ()

    def with_headers(self, *headers: tuple[str, str]) -> Request:
        return self._replace(headers=(*self.headers, *headers))


class Question(NamedTuple):
    """A request about something hidden, and the same about what nobody has.

    `swapped` holds what stands in the one for what in the other; `states` says how each parameter was
    chosen, by its key; `variant` is empty for the question in its plainest form.
    """

    endpoint: Endpoint
    states: Mapping[str, str]
    hidden: Request
    nobodys: Request
    swapped: Mapping[str, str]
    variant: str = ""

    @property
    def parameters(self) -> frozenset[str]:
        """The keys of the parameters that name something hidden."""
        return frozenset(key for key, state in self.states.items() if state == HIDDEN)

    @property
    def is_wholly_hidden(self) -> bool:
        """Whether nothing in it is the asker's own, or nobody's: who may see it is given an answer."""
        return not {OWN, NOBODYS} & set(self.states.values())

    def __str__(self) -> str:
        how = ", ".join(f"{key}: {state}" for key, state in self.states.items() if state != ABSENT)
        return f"{name_of(self.endpoint)} ({how}){', ' + self.variant if self.variant else ''}"


class Ids(NamedTuple):
    """What a question may name: the ids of what is hidden by their kind, and the asker's own by parameter.

    `stand_ins` are what an id is compared with, by the parameter's key, where that is not nobody's.
    `fitting` is what other parameters hold, by their names.
    """

    hidden: Mapping[str, Sequence[str]]
    own: Mapping[str, str]
    stand_ins: Mapping[str, str]
    fitting: Mapping[str, str] = {}


class _Choice(NamedTuple):
    state: str
    value: str | None = None
    nobodys: str | None = None


def nobodys(value: str) -> str:
    """Return what nobody ever had: of the same shape and length, and of the same moment."""
    # The last digits of an id are chance; a file name has its id before the extension.
    stem, dot, extension = value.partition(".")
    digits = stem[-8:]
    other = "".join(chr((ord(c) - 48 + 5) % 10 + 48) if c.isdigit() else _next_letter(c) for c in digits)
    return stem[:-8] + other + dot + extension


def _next_letter(letter: str) -> str:
    return (
        letter if not letter.isalpha() else {"f": "a", "z": "a", "Z": "A"}.get(letter, chr(ord(letter) + 1))
    )


def questions(endpoint: Endpoint, ids: Ids) -> Iterator[Question]:
    """Yield the plain questions to one endpoint about what is hidden."""
    parameters = parameters_of(endpoint)
    for choices in product(*(_choices(one, ids) for one in parameters)):
        if any(choice.state == HIDDEN for choice in choices):
            yield _question(
                endpoint, parameters, [_fresh(*pair) for pair in zip(parameters, choices, strict=True)]
            )


def variants(question: Question, keys: Mapping[str, str], etags: Mapping[str, str]) -> Iterator[Question]:
    """Yield other ways to ask a question.

    `keys` are idempotency keys and `etags` entity tags by the target of the request that they were once
    used for, or answered to.
    """
    target = question.hidden.target
    if question.endpoint.method == "GET":
        yield _asked_by(question, "HEAD", "HEAD")
        for header, value in (
            ("if-none-match", "*"),
            ("if-none-match", etags.get(target, '"nobody-s"')),
            ("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT"),
            ("range", "bytes=0-9"),
        ):
            yield _with_headers(question, (header, value))
        yield _with_query(question, "limit=0")
        yield _with_query(question, "limit=1&before=no-id")
    if question.endpoint.takes_key:
        for key in ("a new key", keys.get(target, "a key"), "", "k" * 256):
            yield _with_headers(question, ("idempotency-key", key))
    yield _with_headers(question, ("origin", "https://elsewhere.example.org"))
    if question.endpoint.body is not None and any(key.startswith("path ") for key in question.parameters):
        needed = tuple(needed_headers().get(name_of(question.endpoint), {}).items())
        for name, (body, headers) in _BAD_BODIES.items():
            yield question._replace(
                hidden=question.hidden._replace(raw=body, headers=(*headers, *needed)),
                nobodys=question.nobodys._replace(raw=body, headers=(*headers, *needed)),
                variant=name,
            )


def _choices(parameter: Parameter, ids: Ids) -> list[_Choice]:
    if parameter.given is not None:
        return [_plain(parameter.given() if callable(parameter.given) else parameter.given)]
    known = ids.hidden.get(parameter.kind or "", ())
    hidden = [_Choice(HIDDEN, id_, ids.stand_ins.get(parameter.key) or nobodys(id_)) for id_ in known]
    if parameter.is_needed and parameter.name in ids.fitting:
        return [_plain(ids.fitting[parameter.name])]
    if parameter.place == "body" and parameter.name in _FITTING:
        return hidden or [_plain(_FITTING[parameter.name])]
    if not parameter.is_needed:
        return [_Choice(ABSENT), *hidden]
    own = ids.own.get(parameter.key)
    others = [_Choice(OWN, own, own)] if own is not None else []
    if not hidden:
        return others or [_plain("word")]
    return [*hidden, *others, _Choice(NOBODYS, nobodys(known[0]), nobodys(known[0]))]


def _fresh(parameter: Parameter, choice: _Choice) -> _Choice:
    """Return the choice of a question; what a function gives is another thing in each."""
    return _plain(parameter.given()) if callable(parameter.given) else choice


def _plain(value: str) -> _Choice:
    return _Choice("plain", value, value)


def _question(endpoint: Endpoint, parameters: Sequence[Parameter], choices: Sequence[_Choice]) -> Question:
    given = list(zip(parameters, choices, strict=True))
    swapped = {
        choice.value: choice.nobodys
        for choice in choices
        if choice.state == HIDDEN and choice.value and choice.nobodys
    }
    return Question(
        endpoint,
        {parameter.key: choice.state for parameter, choice in given if choice.state != "plain"},
        _request(endpoint, [(parameter, choice.value) for parameter, choice in given]),
        _request(endpoint, [(parameter, choice.nobodys) for parameter, choice in given]),
        swapped,
    )


def _request(endpoint: Endpoint, given: Sequence[tuple[Parameter, str | None]]) -> Request:
    path, query, body = endpoint.rule, {}, dict[str, Any](flags_of(endpoint))
    for parameter, value in given:
        if value is None:
            continue
        if parameter.place == "path":
            path = re.sub(rf"<(?:\w+:)?{parameter.name}>", quote(value, safe=":"), path)
        elif parameter.place == "query":
            query[parameter.name] = value
        else:
            body[parameter.name] = (
                {value: _POSITION} if parameter.is_map else [value] if parameter.takes_many else value
            )
    target = f"{path}?{urlencode(query)}" if query else path
    needed = tuple(needed_headers().get(name_of(endpoint), {}).items())
    if endpoint.body is None:
        return Request(endpoint.method, target, needed_bodies().get(name_of(endpoint)), needed)
    return Request(endpoint.method, target, json.dumps(body).encode(), (_JSON, *needed))


def _asked_by(question: Question, method: str, variant: str) -> Question:
    return question._replace(
        hidden=question.hidden._replace(method=method),
        nobodys=question.nobodys._replace(method=method),
        variant=variant,
    )


def _with_headers(question: Question, *headers: tuple[str, str]) -> Question:
    return question._replace(
        hidden=question.hidden.with_headers(*headers),
        nobodys=question.nobodys.with_headers(*headers),
        variant=f"with {headers[0][0]}: {headers[0][1][:40]}",
    )


def _with_query(question: Question, query: str) -> Question:
    def longer(target: str) -> str:
        return f"{target}{'&' if '?' in target else '?'}{query}"

    return question._replace(
        hidden=question.hidden._replace(target=longer(question.hidden.target)),
        nobodys=question.nobodys._replace(target=longer(question.nobodys.target)),
        variant=f"with ?{query}",
    )
