"""The one strict reader of bodies and parameters; nothing else in teamchat parses what a client sends.

A body is a JSON object in UTF-8, decoded directly into the endpoint's struct. Anything else is a 400 that
names the field and never repeats its value (decisions D-02, D-07a). Unknown fields are ignored; if a key is
given twice, the last one counts. The Content-Type of a body may be missing, otherwise it must be
``application/json``; if not, it is 400, because the interface lists no 415 for it. Content-Encoding is 415.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from teamchat.errors import BadRequest, UnsupportedMedia
from teamchat.model.pages import PAGE_DEFAULT, PAGE_MOST, Page
from teamchat.model.text import storable

BODY_LIMIT = 256 * 1024
UPLOAD_LIMIT = 32 * 1024 * 1024
DEPTH_LIMIT = 32
POSITIONS = ("before", "after", "around")
"""The parameters that say where a page is cut."""

_MOST_VALUES = 100_000  # strings and brackets together: to look at so many takes some 20 ms
_MOST_PARAMETERS = 100
# A whole string (an unterminated one to the end), or one bracket. Never steps back, so time is linear.
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)
_DIGITS = re.compile(r"[0-9]+\Z")
_VERSION = re.compile(r'"([0-9]{1,15})"')
_MISSING = re.compile(r"Object missing required field `([^`]+)`")
_WHERE = re.compile(r" - at `\$\.?([^`]*)`\Z")
# "Expected `array` of length >= 2 - at …": a kind, perhaps with a bound, and nothing else.
_EXPECTED = re.compile(
    r"Expected `([^`]+)`(?: (?:(of length) )?(>=|<=)? ?([0-9.e+-]+))?(?=\Z|, got `| - at `)"
)
_BOUNDS = {">=": "at least ", "<=": "at most ", None: ""}
_UNITS = {"str": "character", "array": "element", "object": "field"}
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}

Pull = Callable[[int], Awaitable[bytes]]


async def read_body(
    pull: Pull, headers: Any, decode: Callable[[bytes], Any], *, limit: int, optional: bool
) -> Any:
    """Read the body through `pull` and decode it; an `optional` one may be empty and of any type."""
    check_coding(headers)
    body = await pull(limit)
    if optional:
        return decode_body(body.strip() or b"{}", decode)
    _check_type(headers.get("Content-Type"))
    return decode_body(body, decode)


def check_coding(headers: Any) -> None:
    """Raise `UnsupportedMedia` for a body with a Content-Encoding (decision D-07a)."""
    if (headers.get("Content-Encoding") or "identity").strip().lower() not in {"identity", ""}:
        raise UnsupportedMedia("The body must not be encoded (Content-Encoding).")


def decode_body(body: bytes, decode: Callable[[bytes], Any]) -> Any:
    """Decode a JSON object into the struct that `decode` makes, or raise `BadRequest`."""
    if not body:
        raise BadRequest("The request needs a JSON object as its body.")
    try:
        if not body.isascii():
            body.decode()
        check_depth(body)
        return decode(body)
    except UnicodeDecodeError:
        raise BadRequest("The body is not valid UTF-8.") from None
    except msgspec.ValidationError as error:
        raise BadRequest(_explain(str(error))) from None
    except (msgspec.DecodeError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None


def check_depth(body: bytes) -> None:
    """Refuse JSON deeper than 32 levels without decoding it (decision D-07a)."""
    if body.count(b"[") + body.count(b"{") <= DEPTH_LIMIT:
        return
    depth = 0
    for count, match in enumerate(_STRING_OR_BRACKET.finditer(body)):
        first = body[match.start()]
        if first != 0x22:
            depth += 1 if first in b"[{" else -1
        if depth > DEPTH_LIMIT or count >= _MOST_VALUES:
            raise BadRequest("The body is nested too deeply or holds too many values.")


def read_parameters(query: bytes, names: Sequence[str]) -> dict[str, str]:
    """Return the parameters called `names`; others are ignored.

    One that is given twice is a 400, and so is one that no storage can carry (decision D-04).
    """
    if not query:
        return {}
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise BadRequest("The query is not valid.") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in names and name in found:
            raise BadRequest(f"{name} is given more than once.")
        found[name] = value
    return {name: storable(name, found[name]) for name in names if name in found}


def read_page(parameters: Mapping[str, str]) -> Page:
    """Return the page that ``limit``, ``before``, ``after`` and ``around`` ask for."""
    if not parameters:
        return _FIRST_PAGE
    positions = {name: parameters.get(name) for name in POSITIONS}
    for name, position in positions.items():
        if position == "":
            raise BadRequest(f"{name} is empty.")
    return Page(read_limit(parameters.get("limit")), **positions)


class Condition(NamedTuple):
    """Which version of a thing a request is about: `version`, or with None that it is not there yet."""

    version: int | None

    def holds(self, present: int | None) -> bool:
        """Return whether a thing of this version, or one that is not there, is what is meant."""
        return self.version == present


def read_condition(if_match: str | None, if_none_match: str | None) -> Condition | None:
    """Return what ``If-Match: "<version>"`` or ``If-None-Match: *`` says; None without either."""
    if if_match is None and if_none_match is None:
        return None
    if if_match is None and if_none_match is not None and if_none_match.strip() == "*":
        return Condition(None)
    if if_match is not None and if_none_match is None and (found := _VERSION.fullmatch(if_match.strip())):
        return Condition(int(found[1]))
    raise BadRequest('The condition is neither If-Match: "<version>" nor If-None-Match: *.')


_FIRST_PAGE = Page()


def read_limit(text: str | None) -> int:
    """Return how many of a list are asked for. Raises `BadRequest` for less than one."""
    if text is None:
        return PAGE_DEFAULT
    if not _DIGITS.match(text) or not (digits := text.lstrip("0")):
        raise BadRequest("limit must be a whole number from 1.")
    return PAGE_MOST if len(digits) > 3 else min(int(digits), PAGE_MOST)


def _check_type(content_type: str | None) -> None:
    if content_type and content_type.partition(";")[0].strip().lower() != "application/json":
        raise BadRequest("The body must be JSON (Content-Type: application/json).")


def _explain(message: str) -> str:
    """Turn msgspec's message into a sentence that names the field and holds nothing of the body."""
    where = _WHERE.search(message)
    path = where.group(1) if where else ""
    if missing := _MISSING.match(message):
        return f"{path + '.' if path else ''}{missing.group(1)} is missing."
    kinds, bound = _expected(message)
    return f"{path or 'The body'} must be {kinds}{bound}." if kinds else f"{path or 'The body'} is not valid."


def _expected(message: str) -> tuple[str, str]:
    """Return the kinds and the bound that msgspec's message names, in words; no kinds if it names others."""
    if not (expected := _EXPECTED.match(message)):
        return "", ""
    names, length, sign, number = expected.groups()
    kinds = " or ".join(_KINDS.get(name.strip(), name.strip()) for name in names.split("|"))
    if number is None:
        return kinds, ""
    unit = f" {_UNITS.get(names, 'part')}{'' if number == '1' else 's'}" if length else ""
    return kinds, f" of {_BOUNDS[sign]}{number}{unit}"
