"""What comes of a check, and how it comes about.

What must stay true: inside ``with verdicts.of(id)`` a `Miss` fails that check and no other, and the scenario
goes on.  A `Miss` outside of any check means that a step on the way failed: what the scenario has not
decided yet is blocked, and says by what.  Any other exception is a fault of the suite, never of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal[
    "pass", "note", "fail", "recorded", "blocked", "not-exercised", "not-applicable", "skipped", "error"
]

_current: ContextVar[Finding | None] = ContextVar("current", default=None)
_RANK = ("pass", "note", "fail")


class Miss(AssertionError):
    """The server did something else than was expected. The message says what was sent, wanted and got."""


@dataclass
class Finding:
    """What was found about one check. `exchanges` are the numbers of the requests it is about."""

    id: str
    outcome: Outcome
    message: str = ""
    exchanges: list[int] = field(default_factory=list)
    value: Any = None

    def worsen(self, outcome: Outcome, message: str) -> None:
        """Take the worse of two outcomes, and the message of the worse."""
        if _RANK.index(outcome) > _RANK.index(self.outcome):
            self.outcome, self.message = outcome, message


class Verdicts:
    """The findings of a run, by check id."""

    def __init__(self, last_exchange: Callable[[], int] = lambda: 0) -> None:
        self.findings: dict[str, Finding] = {}
        self._allowed: frozenset[str] = frozenset()
        self._last_exchange = last_exchange

    @contextmanager
    def of(self, id: str) -> Iterator[Finding]:
        """Decide the check `id` by what happens inside: it passes unless something is missed.

        A check that is decided several times keeps the worst outcome.  One that asks nothing itself is taken
        to be about the last answer before it.
        """
        finding = self._open(id)
        before = self._last_exchange()
        token = _current.set(finding)
        try:
            yield finding
        except* Miss as misses:
            finding.worsen("fail", "; ".join(dict.fromkeys(map(str, leaves(misses)))))
        finally:
            _current.reset(token)
            finding.exchanges += range(before + 1, self._last_exchange() + 1)
            if not finding.exchanges and before:
                finding.exchanges.append(before)

    def record(self, id: str, value: Any) -> None:
        """Write down what a server does where the specification is silent."""
        self._check_allowed(id)
        self.findings[id] = Finding(id, "recorded", value=value, exchanges=[self._last_exchange()])

    def put(self, finding: Finding) -> None:
        """Take a finding that was made elsewhere, such as a monitor's."""
        self.findings[finding.id] = finding

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


def note(message: str) -> None:
    """Say that what was seen is accepted, though it is not the strict answer."""
    finding = _current.get()
    if finding is not None:
        finding.worsen("note", message)
