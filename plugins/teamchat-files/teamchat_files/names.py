"""Names of files: what is accepted, and how one stands in the header of a download (G-4).

A name is kept as its sender gave it; control characters are refused.  Where it leaves for somebody's disk,
nothing is left in it that changes directories or the direction of reading.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from teamchat import BadRequest

MOST_CHARACTERS = 255

# RFC 8187, section 3.2.1: what may stand in an extended value as it is.
_AS_IT_IS = "!#$&+-.^_`|~"
_SEPARATORS = re.compile(r"[/\\]")
# Marks of direction, and what joins or separates without being seen; joiners within emoji are left.
_UNSEEN = re.compile("[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")


def file_name(given: str) -> str:
    """Return the name to keep. Raises `BadRequest` if it is empty, too long, or has control characters."""
    name = unicodedata.normalize("NFC", given).strip()
    if not name or name in (".", ".."):
        raise BadRequest("A file needs a name.")
    if len(name) > MOST_CHARACTERS:
        raise BadRequest(f"The name of a file has at most {MOST_CHARACTERS} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise BadRequest("The name of a file has no control characters.")
    return name


def disposition(name: str, *, is_inline: bool) -> str:
    """Return the value of ``Content-Disposition`` (RFC 6266), the name in UTF-8 by RFC 8187."""
    kind = "inline" if is_inline else "attachment"
    return f"{kind}; filename*=UTF-8''{quote(_for_a_disk(name), safe=_AS_IT_IS)}"


def _for_a_disk(name: str) -> str:
    kept = _UNSEEN.sub("", _SEPARATORS.sub("", name))
    kept = "".join(character for character in kept if unicodedata.category(character) not in ("Cc", "Cs"))
    # A name of dots alone, or with one first, is a directory or hidden from who saved it.
    kept = kept.strip().lstrip(".").strip()
    return kept or "file"
