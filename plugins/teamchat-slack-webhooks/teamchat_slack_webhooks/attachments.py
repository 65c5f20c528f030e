"""Attachments of Slack's, which most tools still send: title, text, fields and footer, in this order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from teamchat_slack_webhooks import blocks
from teamchat_slack_webhooks.markup import converted, emphasised, in_words, link
from teamchat_slack_webhooks.shapes import lines, list_in, objects_in, text_in

_BETWEEN = " · "
_LATEST = 253402300799  # seconds: the last moment of the year 9999


def texts_of(attachments: Any) -> Iterator[str]:
    """Yield the text of each attachment that says something."""
    for attachment in (each for each in attachments if isinstance(each, dict)):
        if shown := _text(attachment) or converted(text_in(attachment, "fallback")):
            yield shown


def _text(attachment: dict[str, Any]) -> str:
    return lines(
        converted(text_in(attachment, "pretext")),
        _linked(attachment, "author_name", "author_link"),
        _title(attachment),
        converted(text_in(attachment, "text")),
        *(_field(field) for field in objects_in(attachment, "fields")),
        blocks.text_of(list_in(attachment, "blocks")),
        _BETWEEN.join(filter(None, (blocks.button(each) for each in objects_in(attachment, "actions")))),
        _picture(attachment),
        _footer(attachment),
    )


def _linked(attachment: dict[str, Any], name: str, address_name: str) -> str:
    words, address = text_in(attachment, name), text_in(attachment, address_name)
    return link(address, in_words(words)) if words and address else converted(words)


def _title(attachment: dict[str, Any]) -> str:
    return emphasised(_linked(attachment, "title", "title_link"), "**")


def _field(field: dict[str, Any]) -> str:
    title, value = converted(text_in(field, "title")).strip(), converted(text_in(field, "value")).strip()
    if not title:
        return value
    named = emphasised(f"{title}:", "**")
    return f"{named}\n{value}" if "\n" in value else f"{named} {value}"


def _picture(attachment: dict[str, Any]) -> str:
    address = text_in(attachment, "image_url")
    return link(address, "Image") if address else ""


def _footer(attachment: dict[str, Any]) -> str:
    said = [converted(text_in(attachment, "footer")), _time(text_in(attachment, "ts"))]
    return _BETWEEN.join(part for part in said if part) if said[0] else ""


def _time(seconds: str) -> str:
    try:
        when = float(seconds)
    except ValueError:
        return ""
    if not 0 < when <= _LATEST:
        return ""
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M} UTC"
