"""How far a long operation is: one line on stderr that is overwritten, or a line for each finished step."""

from __future__ import annotations

import sys
from typing import Self

_WIDTH = 70


class Progress:
    """Called with what is being done, how much of it is done, and how much there is.

    What is said afterwards begins on a line of its own, also if the work was broken off.
    """

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._is_within_line = False
        self._last: tuple[str, bool] = ("", False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_within_line:
            sys.stderr.write("\n")

    def __call__(self, what: str, done: int, total: int) -> None:
        if not total:
            return
        is_over = done >= total
        is_news = is_over and self._last != (what, True)
        if self._is_terminal:
            text = f"{what}: {done:,} of {total:,}".ljust(_WIDTH)
            sys.stderr.write(f"\r{text}" + ("\n" if is_news else ""))
            sys.stderr.flush()
            self._is_within_line = not is_news
        elif is_news:
            print(f"{what}: {total:,}", file=sys.stderr)
        self._last = (what, is_over)

    def waits(self) -> None:
        """Say why nothing happens for a while."""
        print("A server is signed on in the database; watching whether it still runs…", file=sys.stderr)
