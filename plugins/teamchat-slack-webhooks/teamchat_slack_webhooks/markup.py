"""Slack's markup in the words of this chat: its links, its ``*bold*``, its names of emoji.

The forms are those of Slack's documentation, "Formatting text for app surfaces".  What is code stays as it
is, apart from the three characters that are written as entities everywhere.  The time grows with the length
of a text, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from teamchat.model import slack

_FENCE = "```"
_CODE = re.compile(r"`[^`\n]+`")
# NUL stands in no text that is kept, so it can stand around what is put back at the end.
_PUT_AWAY = re.compile("\0([0-9]+)\0")

# What the web client takes for a link with words, and what a message can hold of one.
_ADDRESS = re.compile(r"(?:https?://|mailto:)(?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,2000}", re.IGNORECASE)
_WORDS = re.compile(r"(?:[^\[\]\n]|\[[^\[\]\n]{0,50}\]){1,500}")
_ESCAPED = {"(": "%28", ")": "%29", "<": "%3C", ">": "%3E"}
_MOST_WORDS = 400


def converted(marked: str) -> str:
    """Return a text in Slack's markup as a message has it."""
    parts = marked.replace("\0", "").split(_FENCE)
    if len(parts) % 2 == 0:  # The last one is never closed: it is text.
        parts[-2:] = [_FENCE.join(parts[-2:])]
    made = [_block(part) if at % 2 else _line_by_line(part) for at, part in enumerate(parts)]
    # A fence stands in lines of its own here.
    return "".join(
        _on_lines(part, made[at - 1], "".join(made[at + 1 : at + 2])) if at % 2 else part
        for at, part in enumerate(made)
    )


def link(address: str, words: str) -> str:
    """Return a link in the chat's markup, or the address with its words before it where that can't be."""
    words = " ".join(words.split())
    if not words or words == address:
        return address
    if address.removeprefix("mailto:") == words:
        return words
    usable = address if _ADDRESS.fullmatch(address) else _escaped(address)
    if not _ADDRESS.fullmatch(usable):
        return f"{words} ({address})"
    if not _WORDS.fullmatch(words):
        words = words.replace("[", "(").replace("]", ")")
    return f"[{words}]({usable})" if len(words) <= _MOST_WORDS else f"{words}: {address}"


def plain(text: str) -> str:
    """Return a text of Slack's that has no markup but emoji's names and entities (``plain_text``)."""
    return slack.without_entities(slack.with_emoji(text.replace("\0", ""), everywhere=True))


def in_words(marked: str) -> str:
    """Return a text in Slack's markup without any, for the words of a link."""
    return slack.plain(marked.replace("\0", ""), {}, {})


def emphasised(text: str, mark: str) -> str:
    """Return a text in bold (``**``), say, line by line; marks hold for one line."""
    return "\n".join(_marked(line, mark) for line in text.split("\n"))


def _marked(line: str, mark: str) -> str:
    inner = line.strip()
    if not inner or mark in inner:  # It has some of its own: two would end each other.
        return line
    return line.replace(inner, f"{mark}{inner}{mark}", 1)


def _line_by_line(text: str) -> str:
    kept: list[str] = []

    def put_away(shown: str) -> str:
        kept.append(shown)
        return f"\0{len(kept) - 1}\0"

    text = _CODE.sub(lambda found: put_away(_in_code(found[0])), text)
    text = slack.MARKED.sub(lambda found: _shown(found[1], put_away), text)
    text = slack.with_emphasis(text)
    text = slack.without_entities(slack.with_emoji(text, everywhere=True))
    return _PUT_AWAY.sub(lambda found: kept[int(found[1])], text)


def _shown(inner: str, put_away: Callable[[str], str]) -> str:
    if "\0" in inner:  # There is a piece of code in it, and so it is no link.
        return f"&lt;{inner}&gt;"
    return put_away(slack.shown_of(slack.without_entities(inner), {}, {}, link))


def _in_code(code: str) -> str:
    """Return code; addresses that Slack's clients have marked are addresses again."""
    return slack.without_entities(slack.MARKED.sub(lambda found: found[1].partition("|")[0], code))


def _block(code: str) -> str:
    return _FENCE + "\n" + _in_code(code).strip("\n") + "\n" + _FENCE


def _on_lines(block: str, before: str, after: str) -> str:
    first = "" if not before or before.endswith("\n") else "\n"
    return first + block + ("" if not after or after.startswith("\n") else "\n")


def _escaped(address: str) -> str:
    return "".join(_ESCAPED.get(each, "%20" if each.isspace() else each) for each in address)
