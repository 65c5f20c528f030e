"""What the pages say that the program says, it says: the first column of their tables of messages."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.pages import DOCS, ROOT

PAGES = {
    "how-to/move-to-postgresql.md": "It says",
    "how-to/run-two-nodes.md": "The second says",
    "how-to/use-postgresql.md": "At start, or in an answer",
}


def is_said(sentence: str) -> bool:
    """Return whether a sentence stands in the program, or is put together from an end and a beginning."""
    if any(sentence in text for text in texts()):
        return True
    words = sentence.split()
    cuts = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(1, len(words))]
    return any(
        any(text.strip().endswith(first) for text in texts())
        and any(text.startswith(rest) for text in texts())
        for first, rest in cuts
    )


@cache
def texts() -> set[str]:
    """Return all texts of the program; those of several lines are one."""
    files = [*(ROOT / "teamchat").rglob("*.py"), *(ROOT / "plugins").glob("*/teamchat_*/**/*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, str) and value.strip()}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "head"), PAGES.items())
def test_the_messages_that_a_page_explains_are_those_of_the_program(page: str, head: str) -> None:
    table = (DOCS / page).read_text().partition(f"| {head} |")[2].partition("\n\n")[0]
    told = re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)
    assert told
    assert [sentence for sentence in told if not is_said(sentence.rstrip("… ."))] == []
