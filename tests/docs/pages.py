"""What the pages of the documentation say to type, for the tests that type it.

A test takes all blocks of a page apart at once (``stop, start = blocks("how-to/upgrade.md", "sh")``), so
that a block which is added to a page is not forgotten here.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCED = re.compile(r"^( *)```([^`\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def fenced(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page, also those within lists: the language (or "") and the content."""
    return [(language, dedent(content)) for _, language, content in _FENCED.findall(text)]


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks in this language of a page, given by its path below docs/, in their order."""
    return [content for told, content in fenced((DOCS / page).read_text("utf-8")) if told == language]
