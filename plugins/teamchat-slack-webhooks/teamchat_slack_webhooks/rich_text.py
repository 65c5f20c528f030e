"""Blocks of the kind ``rich_text``: text that comes in pieces, each with its style, and no markup in it."""

from __future__ import annotations

from typing import Any

from teamchat.model import slack
from teamchat_slack_webhooks.markup import emphasised, link
from teamchat_slack_webhooks.shapes import lines, object_in, objects_in, text_in

_DEEPEST = 8
_MARKS = (("strike", "~~"), ("italic", "_"), ("bold", "**"))


def text_of(block: Any) -> str:
    """Return the text of a block, or of a cell of a table."""
    return lines(*(_part(part) for part in objects_in(block, "elements")))


def _part(part: dict[str, Any]) -> str:
    kind = text_in(part, "type")
    if kind == "rich_text_list":
        return _list(part)
    said = "".join(_piece(piece) for piece in objects_in(part, "elements")) or _piece(part)
    if kind == "rich_text_preformatted":
        return f"```\n{said.strip()}\n```" if said.strip() else ""
    if kind == "rich_text_quote":
        return "\n".join(f"> {line}" for line in said.split("\n"))
    return said


def _list(part: dict[str, Any]) -> str:
    indent = "  " * min(_whole(part, "indent"), _DEEPEST)
    first = _whole(part, "offset") + 1
    is_ordered = text_in(part, "style") == "ordered"
    items = [_part(item).replace("\n", f"\n{indent}  ") for item in objects_in(part, "elements")]
    return "\n".join(
        f"{indent}{f'{first + at}.' if is_ordered else '-'} {item}" for at, item in enumerate(items)
    )


def _whole(part: dict[str, Any], name: str) -> int:
    value = part.get(name)
    return value if type(value) is int and 0 <= value < 1_000_000 else 0


def _piece(piece: dict[str, Any]) -> str:
    match text_in(piece, "type"):
        case "link":
            address = text_in(piece, "url")
            return link(address, text_in(piece, "text")) if address else text_in(piece, "text")
        case "user":
            return f"@{text_in(piece, 'user_id')}"
        case "usergroup":
            return f"@{text_in(piece, 'usergroup_id')}"
        case "channel":
            return f"#{text_in(piece, 'channel_id')}"
        case "broadcast":
            return f"@{text_in(piece, 'range')}"
        case "emoji":
            return _emoji(piece)
        case "date":
            return text_in(piece, "fallback")
        case "color":
            return text_in(piece, "value")
    return _styled(text_in(piece, "text"), object_in(piece, "style"))


def _styled(text: str, style: dict[str, Any]) -> str:
    if style.get("code") and text.strip() and "`" not in text:
        return f"`{text}`"
    for name, mark in _MARKS:
        if style.get(name):
            text = emphasised(text, mark)
    return text


def _emoji(piece: dict[str, Any]) -> str:
    """Return an emoji; `unicode` are its code points in hexadecimal digits, with ``-`` between them."""
    try:
        points = [int(point, 16) for point in text_in(piece, "unicode").split("-")]
        shown = "".join(map(chr, points))
        shown.encode()  # A lone surrogate is no emoji.
    except (ValueError, OverflowError):
        return slack.emoji(text_in(piece, "name"))
    return shown if "\0" not in shown else ""
