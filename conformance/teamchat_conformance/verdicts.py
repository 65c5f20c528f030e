"""What comes of a check, and how it comes about.

Inside ``with verdicts.of(id)`` a `Miss` fails that check and no other, and the scenario goes on.  A `Miss`
outside of any check means that a step on the way failed: what is not decided yet is blocked, and says so.
Any other exception is a fault of the suite: the check it leaves has ended in an error.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import trio

Outcome = Literal[
    "pass", "note", "fail", "recorded", "blocked", "not-exercised", "not-applicable", "skipped", "error"
]

_current: ContextVar[Finding | None] = ContextVar("current", default=None)
_RANK = ("pass", "note", "error", "fail")


class Miss(AssertionError):
    """The server did something else than was expected. The message says what was sent, wanted and got.

    `exchange` is the number of the request it is about, or 0.
    """

    def __init__(self, message: str, exchange: int = 0) -> None:
        super().__init__(message)
        self.exchange = exchange


@dataclass
class Finding:
    """What was found about one check. `exchanges` are the numbers of the requests it is about.

    `failing` is the number of the one that showed the fault, or 0; `seconds` is how long it took to decide.
    """

    id: str
    outcome: Outcome
    message: str = ""
    exchanges: list[int] = field(default_factory=list)
    value: Any = None
    failing: int = 0
    seconds: float = 0.0

    def worsen(self, outcome: Outcome, message: str, exchange: int = 0) -> None:
        """Take the worse of two outcomes, with its message and the exchange that showed it."""
        if _RANK.index(outcome) > _RANK.index(self.outcome):
            self.outcome, self.message, self.failing = outcome, message, exchange


class Verdicts:
    """The findings of a run, by check id."""

    def __init__(self, last_exchange: Callable[[], int] = lambda: 0) -> None:
        self.findings: dict[str, Finding] = {}
        self._allowed: frozenset[str] = frozenset()
        self._last_exchange = last_exchange

    @contextmanager
    def of(self, id: str) -> Iterator[Finding]:
        """Decide the check `id` by what happens inside: it passes unless something is missed.

        A check that is decided several times keeps the worst outcome: one whose end was not reached, for an
        exception or for the time that its scenario may take, is an error and has not passed.  One that asks
        nothing itself is taken to be about the last answer before it.
        """
        finding = self._open(id)
        before = self._last_exchange()
        token, began = _current.set(finding), time.monotonic()
        try:
            try:
                yield finding
            except* Miss as group:
                misses = list(leaves(group))
                shown = next((one.exchange for one in misses if isinstance(one, Miss)), 0)
                said = "; ".join(dict.fromkeys(map(str, misses)))
                finding.worsen("fail", said, shown or self._last_exchange())
        except BaseException as error:
            finding.worsen("error", where(error), self._last_exchange())
            raise
        finally:
            _current.reset(token)
            finding.seconds += time.monotonic() - began
            finding.exchanges += range(before + 1, self._last_exchange() + 1)
            if not finding.exchanges and before:
                finding.exchanges.append(before)

    def record(self, id: str, value: Any) -> None:
        """Write down what a server does where the specification is silent."""
        self._check_allowed(id)
        self.findings[id] = Finding(id, "recorded", value=value, exchanges=[self._last_exchange()])

    def put(self, finding: Finding) -> Finding:
        """Take a finding that was made elsewhere, such as a monitor's, and return it."""
        self.findings[finding.id] = finding
        return finding

    @contextmanager
    def only(self, ids: frozenset[str]) -> Iterator[None]:
        """Let nothing but `ids` be decided inside: a scenario decides what it names."""
        self._allowed = ids
        try:
            yield
        finally:
            self._allowed = frozenset()

    def _open(self, id: str) -> Finding:
        self._check_allowed(id)
        return self.findings.setdefault(id, Finding(id, "pass"))

    def _check_allowed(self, id: str) -> None:
        if id not in self._allowed:
            raise LookupError(f"the scenario does not name {id}")


def leaves(group: BaseExceptionGroup) -> Iterator[BaseException]:
    """Yield the exceptions in a group, however deep: a nursery wraps what happens in it."""
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from leaves(one)
        else:
            yield one


def where(error: BaseException) -> str:
    """Tell a fault of the suite by its type, message and place."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, trio.Cancelled | trio.TooSlowError):
        return "the scenario was cut off before the check had ended"
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"fault of the suite: {type(error).__name__}: {error}{place}"


def note(message: str, exchange: int = 0) -> None:
    """Say that what was seen, in this exchange, is accepted, though it is not the strict answer."""
    finding = _current.get()
    if finding is not None:
        finding.worsen("note", message, exchange)
