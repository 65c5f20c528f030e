"""Bodies that no endpoint accepts: each must be answered with 400 in the common format (D-01, D-02)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, inspect

_DEEP = b"[" * 100_000
MALFORMED_BODIES: Mapping[str, bytes] = {
    "empty": b"",
    "white space": b"  \n ",
    "no JSON": b"content=hello",
    "cut off": b'{"content": "hel',
    "only a brace": b"{",
    "array": b"[]",
    "null": b"null",
    "number": b"1",
    "string": b'"hello"',
    "true": b"true",
    "invalid UTF-8": b'{"content": "\xff", "name": "\xff"}',
    "invalid UTF-8 in an unknown field": b'{"content": "a", "x": "\xff"}',
    "overlong UTF-8": b'{"content": "\xc0\x80"}',
    "a surrogate in UTF-8": b'{"content": "\xed\xa0\x80"}',
    "UTF-16": '{"content": "a"}'.encode("utf-16"),
    "BOM": b'\xef\xbb\xbf{"content": "a"}',
    "NaN": b'{"content": NaN, "name": NaN, "x": NaN}',
    "Infinity": b'{"content": "a", "x": Infinity}',
    "minus Infinity": b'{"content": "a", "x": -Infinity}',
    "nested arrays": b'{"x": ' + _DEEP + b"}",
    "nested objects": b'{"x":' * 5_000 + b"1" + b"}" * 5_000,
    "only openings": _DEEP,
    "lone surrogate": rb'{"content": "\ud800", "name": "\ud800", "reaction": "\ud800"}',
    "surrogates the wrong way round": rb'{"content": "\udc00\ud800", "x": "\udc00\ud800"}',
    "trailing comma": b'{"content": "a",}',
    "two values": b'{"content": "a"} {"content": "b"}',
    "single quotes": b"{'content': 'a'}",
    "a raw control character": b'{"content": "a\nb"}',
    "a long number": b'{"content": ' + b"9" * 5_000 + b', "x": ' + b"9" * 5_000 + b"",
    "many quotes": b'"' + rb"\"" * 100_000,
}
"""What is wrong with each, and the body: no endpoint takes them."""


def fitting(body: type[Struct], text: str = "word") -> Any:
    """Return what a body may look like, as JSON is in Python: what it needs, each of its type.

    A string begins with `text`.
    """
    return _fitting(inspect.type_info(body), text)


def _fitting(kind: inspect.Type, text: str) -> Any:
    match kind:
        case inspect.StructType(fields=fields):
            return {field.encode_name: _fitting(field.type, text) for field in fields if field.required}
        case inspect.UnionType(types=types):
            return _fitting(types[0], text)
        case inspect.IntType(ge=least, gt=more) | inspect.FloatType(ge=least, gt=more):
            return least if least is not None else 1 if more is None else more + 1
        case inspect.BoolType():
            return True
        case inspect.NoneType():
            return None
        case (
            inspect.ListType(item_type=item, min_length=least)
            | inspect.VarTupleType(item_type=item, min_length=least)
        ):
            return [_fitting(item, f"{text} {number}") for number in range(least or 0)]
        case inspect.CollectionType():
            return []
        case inspect.DictType():
            return {}
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.EnumType(cls=members):
            return next(iter(members)).value
        case inspect.StrType(min_length=least, max_length=most):
            return text.ljust(least or 0, "w")[:most]
    return text
