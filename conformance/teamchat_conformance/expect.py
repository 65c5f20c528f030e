"""What an answer must be: statuses, bodies, shapes. Whatever is not so raises a `Miss` that tells what came.

A status may be graded: the strict one passes, those accepted beside it pass with a note, all else is a miss.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from teamchat_conformance.verdicts import Miss, note

_MOST_SHOWN = 300
_OF_THE_HTTP_LAYER = range(405, 432)
_OF_THE_INTERFACE = 429


class Told(dict[str, Any]):
    """An object of a body or an event. A field that is not there is a `Miss`, and no fault of the suite."""

    def __missing__(self, key: str) -> Any:
        raise Miss(f"an answer or event has no {key}, but {', '.join(self) or 'nothing'}")


@dataclass(frozen=True)
class Answered:
    """What a server answered. `headers` are in lower case, `exchange` is the number of its record."""

    method: str
    target: str
    actor: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    exchange: int

    def header(self, name: str) -> str | None:
        """Return the value of a header, or None."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    @property
    def media_type(self) -> str:
        """The media type, without its parameters."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    @property
    def is_of_the_http_layer(self) -> bool:
        """Whether what speaks HTTP refused this before the server proper saw it: 405 to 431, no body."""
        status = self.status
        return not self.body and status in _OF_THE_HTTP_LAYER and status != _OF_THE_INTERFACE

    @cached_property
    def json(self) -> Any:
        """The body as JSON. Raises `Miss` if it is none."""
        try:
            return json.loads(self.body, object_pairs_hook=Told)
        except (ValueError, RecursionError):
            raise self.miss("the body is not JSON") from None

    def miss(self, what: str) -> Miss:
        """Return the miss that says `what` was wrong with this answer."""
        shown = self.body[:_MOST_SHOWN].decode("utf-8", "replace")
        return Miss(
            f"{self.method} {self.target} by {self.actor}: {what}; got {self.status} {shown}", self.exchange
        )

    def expect(self, *statuses: int, accept: Sequence[int] = ()) -> Answered:
        """Require one of `statuses`; one of `accept` passes with a note. Return the answer itself."""
        if self.status in statuses:
            return self
        wanted = " or ".join(map(str, statuses))
        if self.status in accept:
            note(
                f"{self.method} {self.target}: {self.status} where {wanted} is the strict answer",
                self.exchange,
            )
            return self
        raise self.miss(f"expected {wanted}")

    def ok(self) -> Any:
        """Require 200 and return the JSON."""
        return self.expect(200).json

    def error(self, *statuses: int, accept: Sequence[int] = ()) -> Answered:
        """Require an error: a status, and a JSON object with the text ``error`` (interface, part 7).

        What the layer beneath the server refused has no body, and needs none.
        """
        self.expect(*statuses, accept=accept)
        if self.is_of_the_http_layer:
            return self
        if not isinstance(self.json, dict) or not isinstance(self.json.get("error"), str):
            raise self.miss('expected {"error": text}')
        return self

    def shape(self, wanted: Any) -> Any:
        """Require the JSON to have a shape (see `check_shape`), and return it."""
        if wrong := check_shape(self.json, wanted):
            raise self.miss(wrong)
        return self.json


def told(answer: Answered, key: str) -> dict[str, Any]:
    """Return the object that an answer of 200 holds under `key`. Raises `Miss` unless it has an id."""
    found: dict[str, Any] = answer.expect(200).shape({key: {"id": text}})[key]
    return found


Predicate = Callable[[Any], bool]


def text(value: Any) -> bool:
    """Return whether this is a string that is not empty."""
    return isinstance(value, str) and value != ""


def any_text(value: Any) -> bool:
    """Return whether this is a string."""
    return isinstance(value, str)


def integer(value: Any) -> bool:
    """Return whether this is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def boolean(value: Any) -> bool:
    """Return whether this is true or false."""
    return isinstance(value, bool)


def milliseconds(value: Any) -> bool:
    """Return whether this can be a time of today in epoch milliseconds."""
    return integer(value) and 1_500_000_000_000 < value < 4_000_000_000_000


def array(of: Any = None) -> Predicate:
    """Return what tells whether something is an array, each item of a shape."""

    return _Array(of)


@dataclass(frozen=True)
class _Array:
    """A predicate that can also say which item is wrong, and what of it."""

    of: Any
    __name__ = "an array"

    def __call__(self, value: Any) -> bool:
        return not self.wrong(value, "")

    def wrong(self, value: Any, where: str) -> str:
        """Return what is wrong with `value`, which stands at `where`, or an empty text."""
        if not isinstance(value, list):
            return f"{where} should be an array, and is {_cut_json(value)}"
        if self.of is None:
            return ""
        # An item of a list may be somebody else's: what stands in it is told by its kind, never by its text.
        said = (check_shape(item, self.of, f"{where}[{n}]", _kind) for n, item in enumerate(value))
        return next(filter(None, said), "")


def optional(of: Any) -> Predicate:
    """Return what tells whether something is null or of a shape; in a table the key may also be missing."""

    def check(value: Any) -> bool:
        return value is None or not check_shape(value, of)

    check.__name__ = "null or as it should be"
    return check


def check_shape(
    value: Any, wanted: Any, where: str = "the body", shown: Callable[[Any], str] | None = None
) -> str:
    """Return what is wrong with `value`, or an empty text.

    `wanted` is a table of fields (others may be there), a predicate such as `text`, or the very value.
    `shown` writes down what was found; if it is not given, as JSON, cut.
    """
    shown = shown or _cut_json
    if isinstance(wanted, Mapping):
        return _check_fields(value, wanted, where, shown)
    if isinstance(wanted, _Array):
        return wanted.wrong(value, where)
    if callable(wanted):
        name = getattr(wanted, "__name__", "other").replace("_", " ")
        return "" if wanted(value) else f"{where} should be {name}, and is {shown(value)}"
    is_same = value == wanted and type(value) is type(wanted)
    return "" if is_same else f"{where} should be {_cut_json(wanted)}, and is {shown(value)}"


def _check_fields(value: Any, wanted: Mapping[str, Any], where: str, shown: Callable[[Any], str]) -> str:
    if not isinstance(value, dict):
        return f"{where} should be an object"
    for key, inner in wanted.items():
        if key not in value:
            if getattr(inner, "__name__", "") == "null or as it should be":
                continue
            return f"{where} has no {key}"
        if wrong := check_shape(value[key], inner, f"{where}.{key}", shown):
            return wrong
    return ""


def _cut_json(value: Any) -> str:
    return json.dumps(value)[:120]


def _kind(value: Any) -> str:
    """Return the kind of a value, and numbers, null and the like as they are."""
    if isinstance(value, str):
        return "another text" if value else "an empty text"
    return (
        "an object"
        if isinstance(value, dict)
        else "an array"
        if isinstance(value, list)
        else json.dumps(value)
    )


def require(condition: object, what: str) -> None:
    """Raise a `Miss` that says `what` unless the condition holds."""
    if not condition:
        raise Miss(what)
