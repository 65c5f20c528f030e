"""How far a long operation is: one line on stderr that is written over, or a line for each step done."""

from __future__ import annotations

import sys

_WIDTH = 70


class Progress:
    """Called with what is being done, how much of it is done, and how much there is."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last: tuple[str, bool] = ("", False)

    def __call__(self, what: str, done: int, total: int) -> None:
        if not total:
            return
        is_over = done >= total
        if self._is_terminal:
            text = f"{what}: {done:,} of {total:,}".ljust(_WIDTH)
            sys.stderr.write(f"\r{text}" + ("\n" if is_over and self._last != (what, True) else ""))
            sys.stderr.flush()
        elif is_over and self._last != (what, True):
            print(f"{what}: {total:,}", file=sys.stderr)
        self._last = (what, is_over)

    def waits(self) -> None:
        """Say why nothing happens for a while."""
        print("A server is signed on in the database; watching whether it still runs…", file=sys.stderr)
