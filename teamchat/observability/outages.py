"""What is tried again and again: the log has when it begins to fail and when it works again, not each try."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import trio

from teamchat.observability.logs import Log

AGAIN_SECONDS = 3600.0
"""After so long the log has it again: who looks at the last hours is to find it."""


class Outage:
    """Something that may fail for a while. `event` says what does not work, and `fields` of what."""

    def __init__(self, log: Log, event: str, level: int = logging.WARNING, **fields: Any) -> None:
        self._log, self._event, self._level, self._fields = log, event, level, fields
        self._began: float | None = None
        self._told: tuple[type[Exception], float] | None = None

    @contextmanager
    def noted(self, *kinds: type[Exception]) -> Iterator[None]:
        """Pass over exceptions of these kinds, in groups too, and note them; without any it is over."""
        try:
            yield
        except* kinds as group:
            self.goes_on(_first_in(group))
        else:
            self.is_over()

    def goes_on(self, error: Exception) -> None:
        """Note that it has failed: logged at first, for another kind of error, and then once an hour."""
        now = trio.current_time()
        if self._began is None:
            self._began = now
        if self._told is None or self._told[0] is not type(error) or now - self._told[1] >= AGAIN_SECONDS:
            self._told = (type(error), now)
            self._log.log(self._level, self._event, exc_info=error, **self._fields)

    def is_over(self) -> None:
        """Note that it works; logged if it did not, with how long that was in seconds."""
        if self._began is not None:
            seconds = round(trio.current_time() - self._began, 1)
            self._log.warning(f"over: {self._event}", seconds=seconds, **self._fields)
            self._began = self._told = None


def _first_in(group: ExceptionGroup[Exception]) -> Exception:
    first = group.exceptions[0]
    return _first_in(first) if isinstance(first, ExceptionGroup) else first
