"""Makes ``teamchat/accounts/confusables.json`` from the data of the package confusable-homoglyphs 3.3.1.

That package holds Unicode's confusables.txt (version 15.1), but as pairs that go both ways, and has no
function for skeletons.  Unpack its wheel and give the path of its ``confusables.json``; raise
`skeletons.VERSION` when the table has changed.

    python -m tests.accounts.making_confusables confusable_homoglyphs/confusables.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TABLE = Path(__file__).parents[2] / "teamchat/accounts/confusables.json"
_ABOUT = (
    "Unicode's confusables.txt, version 15.1: each prototype and the characters that look like it (UTS 39, "
    "section 4). Copyright (c) 1991-2023 Unicode, Inc., under https://www.unicode.org/license.txt. "
    "Made by tests/accounts/making_confusables.py."
)
_MARK = "\u200e"  # surrounds what is written from right to left


def prototypes(pairs: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    """Return the prototype of each character that is not one.

    Each line of the original, a source and its prototype, is a pair in both directions, and the source came
    first.  A prototype is never a source.
    """
    order = {text: place for place, text in enumerate(pairs)}
    found = {}
    for text, others in pairs.items():
        if len(text.strip(_MARK)) > 1 or len(others) > 1:
            continue  # What stands in several lines, or is several characters, is a prototype.
        other = others[0]["c"]
        if len(other.strip(_MARK)) > 1 or len(pairs[other]) > 1 or order[other] > order[text]:
            found[text.strip(_MARK)] = other.strip(_MARK)
    return found


def table(found: dict[str, str]) -> str:
    """Return the file: ASCII, one prototype on a line, in an order that never differs."""
    alike: dict[str, list[str]] = {}
    for source, prototype in found.items():
        alike.setdefault(prototype, []).append(source)
    lines = [
        f"{json.dumps(prototype)}: {json.dumps(''.join(sorted(sources)))}"
        for prototype, sources in sorted(alike.items())
    ]
    body = ",\n".join(lines)
    return f'{{"about": {json.dumps(_ABOUT)},\n"alike": {{\n{body}\n}}}}\n'


if __name__ == "__main__":
    TABLE.write_text(table(prototypes(json.loads(Path(sys.argv[1]).read_text("utf-8")))), "ascii")
