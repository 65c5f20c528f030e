"""The area, the checks of every event's form, and those who look on.

That an event comes once, and to whom, is concluded after two fences, never from time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from teamchat_conformance.actors import Actor
from teamchat_conformance.checks.stream._area import listening_to
from teamchat_conformance.events import BY_NAME, EVENTS
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area
from teamchat_conformance.sse import Observer

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area = Area("EVT", "Events")

_EXTENDED = {"UPDREPLY": ("D-36", "is the reply message: id, threadId, content, and the rest")}

for one in EVENTS:
    if one.code in _EXTENDED:
        area.recommended(one.shape_check, _EXTENDED[one.code][0], f"{one.name} {_EXTENDED[one.code][1]}")
    else:
        area.required(one.shape_check, "§6", f"{one.name} carries {', '.join(one.fields)}")
area.recorded("EVT-OTHER-01", "§6", "Types of events that the table does not know")
area.recommended(
    "EVT-OTHER-02", "§6, D-36", "Payloads hold the table's fields, or more of what they are about"
)
area.monitor(*(one.shape_check for one in EVENTS), "EVT-OTHER-01", "EVT-OTHER-02")


class Audience:
    """Observers, split by whether a conversation is theirs."""

    def __init__(self, run: Run, observers: list[Observer], participants: int | None) -> None:
        self._run = run
        self.observers = observers
        self._participants = len(observers) if participants is None else participants

    async def once(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Require one such event on every stream entitled to it and none elsewhere; return its payload."""
        entitled, outsiders = self._split(kind)
        for observer in entitled:
            await observer.expect(kind, seconds=self._run.wait(5), **fields)
        await self.quiet()
        for observer in entitled:
            came = len(observer.since(0, kind, **fields))
            require(came == 1, f"{observer.name} got {kind} {came} times")
        for observer in outsiders:
            require(not observer.since(0, kind, **fields), f"{observer.name}, an outsider, got {kind}")
        payload: dict[str, Any] = entitled[0].since(0, kind, **fields)[0].payload
        return payload

    async def quiet(self) -> None:
        """Let everything come that was to come: two fences, as one may be overtaken."""
        await self._run.fence(*self.observers)
        await self._run.fence(*self.observers)

    def count(self, kind: str, **fields: Any) -> int:
        """Return how many such events the first observer has got."""
        return len(self.observers[0].since(0, kind, **fields))

    def _split(self, kind: str) -> tuple[list[Observer], list[Observer]]:
        if BY_NAME[kind].audience == "everyone":
            return self.observers, []
        return self.observers[: self._participants], self.observers[self._participants :]


@asynccontextmanager
async def audience(run: Run, *actors: Actor, participants: int | None = None) -> AsyncIterator[Audience]:
    """Open a stream for each; of direct-message events the first `participants` are to be told."""
    async with listening_to(run, *actors) as observers:
        yield Audience(run, observers, participants)


def same(payload: dict[str, Any], answer: dict[str, Any], *names: str) -> None:
    """Require an event to tell what the answer told."""
    for name in names:
        told, wanted = payload.get(name), answer.get(name)
        require(told == wanted, f"the event's {name} is {told!r}, the answer's {wanted!r}")
