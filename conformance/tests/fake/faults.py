"""Faults that are put on from outside, so that the handlers need not know of them.

A fault is a name of several words, the first of which says what is done:

- ``status ROUTE 201``: that status in place of 200; ``refusal ROUTE 403 500``: 500 in place of 403;
- ``without ROUTE a.b``, ``with ROUTE a.b``, ``string ROUTE a.b``: a field is missing, too much, a string;
- ``number ROUTE a.b``: a text becomes a number;
- ``silent TYPE``, ``twice TYPE``, ``public TYPE``: an event does not come, comes twice, comes to all;
- ``eventless TYPE field``, ``eventful TYPE field``: a field of its payload is missing, is too much;
- ``open ROUTE``, ``any-user ROUTE``: no sign-in, no admin is asked for;
- ``errors key``, ``errors-extra``, ``errors-text``: the shape of every error;
- ``answers-as-html``: the media type of all JSON.

All other names are asked for where the fault is made. In a path, ``*`` stands for every item of a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from conformance.tests.fake.wire import Response, as_json

Edit = Callable[[dict[str, Any], str], None]
LEAKED = "leaked by the fake"


class Faults:
    """The faults of one fake."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._words = [name.split() for name in sorted(names)]

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def event(
        self, kind: str, payload: dict[str, Any], to: Collection[str] | None
    ) -> Iterator[tuple[dict[str, Any], Collection[str] | None]]:
        """Yield what is sent for an event, and to whom."""
        for verb, *words in self._words:
            if kind not in words[:1]:
                continue
            if verb == "silent":
                return
            if verb == "twice":
                yield payload, to
            elif verb == "public":
                to = None
            elif verb in _EVENT_EDITS:
                payload = json.loads(json.dumps(payload))
                _each(payload, words[1], _EVENT_EDITS[verb])
        yield payload, to

    def answer(self, route: str, response: Response) -> Response:
        """Return what is answered in place of what should be."""
        for verb, *words in self._words:
            if verb == "errors" and response.status >= 400:
                told = {words[0]: json.loads(response.body)["error"]}
                response = as_json(told, response.status)
            elif verb == "errors-extra" and response.status >= 400:
                response = as_json({**json.loads(response.body), "code": 7}, response.status)
            elif verb == "answers-as-html" and response.headers["Content-Type"] == "application/json":
                response.headers["Content-Type"] = "text/html"
            elif verb == "errors-text" and response.status >= 400:
                response.headers["Content-Type"] = "text/plain"
            elif " ".join(words[:2]) == route:
                response = _changed(verb, words[2:], response)
        return response


def _changed(verb: str, words: list[str], response: Response) -> Response:
    if verb == "status" and response.status == 200:
        response.status = int(words[0])
    elif verb == "refusal" and response.status == int(words[0]):
        response.status = int(words[1])
    elif verb in _EDITS and response.status == 200:
        told = json.loads(response.body)
        _each(told, words[0], _EDITS[verb])
        return as_json(told)
    return response


def _each(tree: Any, path: str, edit: Edit) -> None:
    """Edit the field at a path."""
    first, _, rest = path.partition(".")
    if first == "*":
        for item in tree:
            _each(item, rest, edit)
    elif not rest:
        edit(tree, first)
    elif tree.get(first) is not None:
        _each(tree[first], rest, edit)


def _take_away(table: dict[str, Any], key: str) -> None:
    table.pop(key, None)


def _add(table: dict[str, Any], key: str) -> None:
    table[key] = LEAKED


def _stringify(table: dict[str, Any], key: str) -> None:
    if key in table:
        table[key] = str(table[key])


def _number(table: dict[str, Any], key: str) -> None:
    table[key] = len(table[key])


_EDITS: dict[str, Edit] = {"without": _take_away, "with": _add, "string": _stringify, "number": _number}
_EVENT_EDITS: dict[str, Edit] = {"eventless": _take_away, "eventful": _add}
