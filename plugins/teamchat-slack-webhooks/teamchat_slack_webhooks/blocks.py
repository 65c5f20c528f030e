"""Blocks of Slack's ("Block Kit") as text: each kind by a function of its own, in the table at the end.

Of a kind that is not known the texts in it are kept, so that what a tool says is not lost for being new.
Buttons are links where they have an address; those that would call the tool back do nothing here and are
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from teamchat.model import slack
from teamchat_slack_webhooks import rich_text
from teamchat_slack_webhooks.markup import converted, emphasised, in_words, link, plain
from teamchat_slack_webhooks.shapes import lines, list_in, object_in, objects_in, text_in

DIVIDER = "———"
_BETWEEN = " · "
Block = dict[str, Any]


def text_of(blocks: Any) -> str:
    """Return the text of a list of blocks; lines between them stand between two that say something alone."""
    made: list[str] = []
    for block in (each for each in blocks if isinstance(each, dict)):
        shown = _KINDS.get(text_in(block, "type"), _unknown)(block)
        if not shown.strip() or (shown == DIVIDER and (not made or made[-1] == DIVIDER)):
            continue
        made.append(shown)
    if made[-1:] == [DIVIDER]:
        made.pop()
    return lines(*made)


def written(part: Any) -> str:
    """Return the text of a text object: ``mrkdwn``, or ``plain_text``, or a bare text of older tools."""
    if isinstance(part, str):
        return converted(part)
    text = text_in(part, "text")
    return plain(text) if text_in(part, "type") == "plain_text" else converted(text)


def button(part: Any) -> str:
    """Return a button that leads to an address as a link; nothing of another."""
    label = part.get("text") if isinstance(part, dict) else None
    address = text_in(part, "url")
    return link(address, _words(label) or "Open") if address else ""


def picture(part: Any) -> str:
    """Return what stands for a picture: a link to it with its description."""
    address = text_in(part, "image_url") or text_in(object_in(part, "slack_file"), "url")
    words = plain(text_in(part, "alt_text")) or _words(part.get("title"))
    return link(address, words or "Image") if address else words


def _words(part: Any) -> str:
    """Return a text object as the words of a link."""
    return in_words(part if isinstance(part, str) else text_in(part, "text"))


def _header(block: Block) -> str:
    return emphasised(written(block.get("text")), "**")


def _section(block: Block) -> str:
    fields = [written(field) for field in list_in(block, "fields")]
    return lines(written(block.get("text")), *fields, _element(block.get("accessory")))


def _context(block: Block) -> str:
    shown = (_element(each) for each in list_in(block, "elements"))
    return " ".join(each for each in shown if each)


def _actions(block: Block) -> str:
    shown = (_element(each) for each in list_in(block, "elements"))
    return _BETWEEN.join(each for each in shown if each)


def _element(part: Any) -> str:
    kind = text_in(part, "type")
    if kind in ("plain_text", "mrkdwn"):
        return written(part)
    if kind == "image":
        return picture(part)
    if kind == "overflow":
        return _BETWEEN.join(filter(None, (button(option) for option in objects_in(part, "options"))))
    return button(part)


def _image(block: Block) -> str:
    return lines(written(block.get("title")), picture(block))


def _video(block: Block) -> str:
    address = text_in(block, "title_url") or text_in(block, "video_url")
    words = _words(block.get("title")) or plain(text_in(block, "alt_text"))
    return lines(link(address, words or "Video") if address else words, written(block.get("description")))


def _markdown(block: Block) -> str:
    return text_in(block, "text")


def _rich_text(block: Block) -> str:
    return rich_text.text_of(block)


def _table(block: Block) -> str:
    rows = (row for row in list_in(block, "rows") if isinstance(row, list))
    return lines(*(" | ".join(" ".join(_cell(cell).split()) for cell in row) for row in rows))


def _cell(cell: Any) -> str:
    return rich_text.text_of(cell) if list_in(cell, "elements") else plain(text_in(cell, "text"))


def _unknown(block: Block) -> str:
    return converted(slack.text_of_blocks(block))


_KINDS: Mapping[str, Callable[[Block], str]] = {
    "header": _header,
    "section": _section,
    "context": _context,
    "divider": lambda _: DIVIDER,
    "actions": _actions,
    "image": _image,
    "video": _video,
    "markdown": _markdown,
    "rich_text": _rich_text,
    "table": _table,
}
