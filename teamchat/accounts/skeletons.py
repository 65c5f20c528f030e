"""Which names look alike: the skeletons of UTS 39, section 4.

Two names have the same skeleton if a reader can't distinguish them.  Names are also compared without
regard to case (D-21), and folding hides that some look alike ("Ivan", and "lvan" with a small L), but shows
it of others ("ivan", and "IVAN" with a Cyrillic I).  So a name has two skeletons, and is like another one
if they share either.

The table is made by `tests/accounts/making_confusables.py` of the data of the package confusable-homoglyphs,
which are Unicode's.  It is a file of ours, and not that package, which has no function for skeletons: what is
stored of names has to change with the data, so a new table goes with a new `VERSION`.
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
