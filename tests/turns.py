"""How often the event loop comes round."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Turns(trio.abc.Instrument):
    """Counts them."""

    count = 0

    def before_io_wait(self, timeout: float) -> None:
        self.count += 1


@contextmanager
def counting_turns() -> Iterator[Turns]:
    """Count the turns of the event loop for as long as the context lasts."""
    turns = Turns()
    trio.lowlevel.add_instrument(turns)
    try:
        yield turns
    finally:
        trio.lowlevel.remove_instrument(turns)
