"""Which names look alike: the skeletons of UTS 39, section 4.

Two names have the same skeleton if a reader can't tell them apart. Names are also compared ignoring case
(D-21), and folding the case hides some similarities ("Ivan", and "lvan" with a small L) and reveals others
("ivan", and "IVAN" with a Cyrillic I). So a name has two skeletons, and is like another one if they share
either.

`tests/accounts/making_confusables.py` makes the table from the data of the package confusable-homoglyphs,
which are Unicode's. The table is a file of our own because that package has no function for skeletons, and
because what is stored of names has to change with the data: a new table needs a new `VERSION`.
"""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from importlib import resources

from teamchat.model import text

VERSION = 1
"""Goes up when the skeletons of names change; those that are stored are then made anew."""


def skeletons(name: str) -> frozenset[str]:
    """Return the two skeletons by which a name is compared, as seen and without regard to case."""
    name = text.squeezed(text.visible(name))  # It may be from before such names were refused.
    return frozenset({skeleton(text.fold(skeleton(name))), skeleton(text.fold(name))})


def skeleton(name: str) -> str:
    """Return the skeleton of UTS 39: what is not seen left out, everything else as its prototype."""
    seen = text.visible(unicodedata.normalize("NFD", name))
    return unicodedata.normalize("NFD", seen.translate(_prototypes()))


@cache
def _prototypes() -> dict[int, str]:
    table = json.loads(resources.files("teamchat.accounts").joinpath("confusables.json").read_text("ascii"))
    return {ord(one): prototype for prototype, alike in table["alike"].items() for one in alike}
