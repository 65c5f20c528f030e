"""What is written to a terminal: nothing that came from outside may break a line or control the terminal."""

from __future__ import annotations

import re
import sys

from teamchat.errors import OperatorError

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Escape what could break the line or play with a terminal."""
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def complain(error: OperatorError) -> None:
    """Tell the operator in one line on stderr."""
    print(printable(f"teamchat: {error}"), file=sys.stderr)
