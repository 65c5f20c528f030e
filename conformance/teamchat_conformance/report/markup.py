"""HTML made of elements. A text is text, and only `Html` is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_EMPTY = ("input", "meta")


class Html(str):
    """Markup, as opposed to a text."""

    __slots__ = ()


def el(tag: str, *children: str | Iterable[str], **attributes: str | bool) -> Html:
    """Return an element. Underscores at the end of an attribute's name are dropped, others are hyphens."""
    given = "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items()
    )
    if tag in _EMPTY:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(children)}</{tag}>")


def joined(children: Iterable[str | Iterable[str]]) -> Html:
    """Return children one after the other; texts among them are escaped."""
    parts = (child if isinstance(child, Html) else _escaped(child) for child in children)
    return Html("".join(parts))


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Return a list of names and what they stand for; what stands for nothing is left out."""
    return el("dl", (el("div", el("dt", name), el("dd", value)) for name, value in pairs if value))


def _escaped(child: str | Iterable[str]) -> str:
    return escape(_CONTROLS.sub("\ufffd", child)) if isinstance(child, str) else joined(child)


def _attribute(name: str, value: str | bool) -> str:
    if value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_escaped(value)}"'
