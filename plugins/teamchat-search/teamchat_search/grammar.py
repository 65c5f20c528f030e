"""The grammar of what is asked for (extension F-2): words, "quotes", -exclusions, and operators.

Here it is only read. Whether an operand names something that the caller sees is asked elsewhere; where it
does not, the word as it was written is a term.
"""

from __future__ import annotations

import re
from typing import NamedTuple

OPERATORS = frozenset({"from", "in", "before", "after", "on", "has", "is", "mentions"})

# A word, with the quote that it may have at its beginning or behind its operator. A quote that is not closed
# runs to the end.
_ITEM = re.compile(
    r"""(?P<minus>-(?=\S))?(?:(?P<name>[A-Za-z]+):)?(?:"(?P<quoted>[^"]*)(?:"|\Z)|(?P<bare>\S*))""",
    re.VERBOSE,
)
_BARE = re.compile(r"\S+")


class Item(NamedTuple):
    """One word of a query. With a `name` it is an operator, whose operand is `text`; `written` is all of it.

    `written` is without the ``-`` of an exclusion.
    """

    text: str
    is_excluded: bool = False
    name: str | None = None
    written: str = ""

    @property
    def as_term(self) -> Item:
        """The word as a term."""
        return Item(self.written, self.is_excluded, None, self.written)


def parsed(query: str) -> list[Item]:
    """Return the words of a query, in their order."""
    items: list[Item] = []
    at = 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        found = _ITEM.match(query, at)
        if found is None or found.end() == at:  # It never is: what is no space begins a word.
            break
        item, at = _item(query, found)
        if item.text.strip():
            items.append(item)
    return items


def _item(query: str, found: re.Match[str]) -> tuple[Item, int]:
    """Return the word that was found, and where it ends."""
    is_excluded = found["minus"] is not None
    begin = found.end("minus") if is_excluded else found.start()
    name, quoted = (found["name"] or "").lower(), found["quoted"]
    if name in OPERATORS:
        operand = quoted if quoted is not None else found["bare"]
        if operand.strip():
            return Item(operand, is_excluded, name, query[begin : found.end()]), found.end()
    elif found["name"] is None and quoted is not None:
        return Item(quoted, is_excluded, None, quoted), found.end()
    # No operator: the word as it is written, to the next white space.
    bare = _BARE.match(query, begin)
    end = found.end() if bare is None else bare.end()
    return Item(query[begin:end], is_excluded, None, query[begin:end]), end
