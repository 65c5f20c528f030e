"""Where in a text somebody may be mentioned, as the web client reads it (E-3): not in code, not in a link.

Blocks are found line by line, and within a block a single pass meets each mark once, so the time grows with
the length of the text, whatever is in it. All offsets count code points.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from teamchat.model.text import base_at

Lines = Sequence[tuple[int, str]]
"""Lines of a text, each with where it begins there."""

_DEEPEST = 8
_FENCE = re.compile(r" {0,3}```")
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r" {0,3}(?:[-*]|[0-9]{1,9}[.)]) +(?=\S)")
_INNER_ITEM = re.compile(r"[ \t]*(?:[-*]|[0-9]{1,9}[.)]) +(?=\S)")
_INDENTED = re.compile(r"(?: {2}|\t)\s*(?=\S)")

_RUN = r"`+|\[|(?<![^\W_])(?:https?://|mailto:)"
_NAME = r"(?<![^\W_])(?<![.%+-])(?:[a-z0-9](?:[a-z0-9_.%+'-]{0,62}[a-z0-9])?@|www\.)|@"
_MARK = re.compile(f"{_RUN}|{_NAME}", re.IGNORECASE)
_TICKS = re.compile("`+")
_NAMED_LINK = re.compile(
    r"\[(?:[^\[\]\n]|\[[^\[\]\n]{0,50}\]){1,500}\]"
    r"\((?:https?://|mailto:|www\.)(?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,2000}\)",
    re.IGNORECASE,
)
_BARE_LINK = re.compile(
    r"(?:https?://|mailto:|www\.(?:[^\W_]|-){1,63}\.(?=[^\W\d_]))[^\s<>\"]{1,2000}", re.IGNORECASE
)
_MAIL = re.compile(
    r"[a-z0-9_.%+'-]{1,64}@(?:(?:[^\W_]|-){1,63}\.){1,8}[^\W\d_]{2,63}(?!(?:[^\W_]|[@-]))", re.IGNORECASE
)
_WORD = re.compile(r"\w")


def is_word(character: str) -> bool:
    """Return whether a character is a letter, a digit or ``_``; of nothing at all, no."""
    return _WORD.match(character) is not None


def goes_on(text: str, at: int) -> bool:
    """Return whether a word that ends at a place in a text goes on there, by a letter or a mark on one."""
    return at < len(text) and (is_word(text[at]) or base_at(text, at) != text[at])


def places(text: str) -> list[int]:
    """Return where each ``@`` stands that may mention somebody, in order."""
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append((start, line.removesuffix("\r")))
        start += len(line) + 1
    return [at for block in _blocks(lines, 0) for at in _inline(block)]


def _blocks(lines: Lines, depth: int) -> Iterator[Lines]:
    """Yield the lines of each paragraph and each item of a list; what is fenced off is code."""
    at = 0
    while at < len(lines):
        first, line = at, lines[at][1]
        at += 1
        if not line.strip():
            continue
        if _FENCE.match(line):
            while at < len(lines) and not _FENCE.match(lines[at][1]):
                at += 1
            at += 1
        elif depth < _DEEPEST and _QUOTE.match(line):
            while at < len(lines) and _QUOTE.match(lines[at][1]):
                at += 1
            yield from _blocks([_after(_QUOTE, one) for one in lines[first:at]], depth + 1)
        elif _ITEM.match(line):
            while at < len(lines) and _continues(lines[at][1], depth):
                at += 1
            yield from _items(lines[first:at])
        else:
            while at < len(lines) and lines[at][1].strip() and not _opens(lines[at][1], depth):
                at += 1
            yield lines[first:at]


def _items(lines: Lines) -> Iterator[Lines]:
    item: list[tuple[int, str]] = []
    for line in lines:
        if not _INNER_ITEM.match(line[1]):
            item.append(line)
            continue
        if item:
            yield item
        item = [_after(_INNER_ITEM, line)]
    yield item


def _after(mark: re.Pattern[str], line: tuple[int, str]) -> tuple[int, str]:
    found = mark.match(line[1])
    length = found.end() if found else 0
    return line[0] + length, line[1][length:]


def _opens(line: str, depth: int) -> bool:
    return bool(_FENCE.match(line) or _ITEM.match(line) or (depth < _DEEPEST and _QUOTE.match(line)))


def _continues(line: str, depth: int) -> bool:
    """Return whether a line belongs to the list above it: as an item, or as more of one."""
    return bool(_INNER_ITEM.match(line) or (_INDENTED.match(line) and not _opens(line, depth)))


def _inline(lines: Lines) -> Iterator[int]:
    """Yield where an ``@`` stands in a block that is in no code, no link and no address of a mail."""
    text = "\n".join(line for _, line in lines)
    if "@" not in text:
        return
    starts = [0]
    for _, line in lines:
        starts.append(starts[-1] + len(line) + 1)
    ends, at = _ends_of_code(text), 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0] == "@":
            if mark.start() == 0 or not is_word(text[mark.start() - 1]):
                number = bisect_right(starts, mark.start()) - 1
                yield lines[number][0] + mark.start() - starts[number]
        elif mark[0].startswith("`"):
            at = max(at, ends.get(mark.start(), 0))
        else:
            at = max(at, _end_of_link(text, mark))


def _ends_of_code(text: str) -> dict[int, int]:
    """Return for each run of backticks that another one of its length follows where that one ends."""
    ends: dict[int, int] = {}
    following: dict[int, int] = {}
    for run in reversed(list(_TICKS.finditer(text))):
        length = run.end() - run.start()
        if length in following:
            ends[run.start()] = following[length]
        following[length] = run.end()
    return ends


def _end_of_link(text: str, mark: re.Match[str]) -> int:
    """Return where a link or an address ends that begins here; 0 if there is none."""
    at = mark.start()
    if mark[0] == "[":
        named = _NAMED_LINK.match(text, at)
        return named.end() if named else 0
    if mark[0].endswith("@") and (mail := _MAIL.match(text, at)):
        return mail.end()
    bare = _BARE_LINK.match(text, at)
    if bare is None:
        return 0
    address = _without_punctuation(bare[0])
    is_nowhere = address[:7].lower() == "mailto:" and "@" not in address
    return 0 if is_nowhere else at + len(address)


def _without_punctuation(address: str) -> str:
    """Return an address without what belongs to the sentence around it."""
    excess = {
        close: address.count(close) - address.count(opened) for opened, close in (("(", ")"), ("[", "]"))
    }
    end = len(address)
    while end:
        last = address[end - 1]
        if excess.get(last, 0) > 0:
            excess[last] -= 1
        elif last not in ".,;:!?'*_~`":
            break
        end -= 1
    return address[:end]
