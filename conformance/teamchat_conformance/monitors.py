"""What is looked at in every answer and every event of a run, whatever the scenario was about.

A monitor only looks; it asks nothing, changes nothing, and what it finds wrong is told
once the run is over.  The one that asks, whether the server is there all the while, keeps a record of its
own, so that its requests stand in no scenario's transcript.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import trio

from teamchat_conformance.answer_monitors import answer_monitors
from teamchat_conformance.event_monitors import event_monitors
from teamchat_conformance.expect import Answered
from teamchat_conformance.http import Client, Exchange, Recorder
from teamchat_conformance.registry import Registry
from teamchat_conformance.sse import Event, Observer
from teamchat_conformance.tally import Tally
from teamchat_conformance.verdicts import Finding, Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_PULSE_SECONDS = 1.0
_SLOWEST_SECONDS = 2.0


class Monitor(Protocol):
    """Looks at everything of a kind and tells in the end what it saw."""

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        """Look at an answer."""

    def event(self, observer: Observer, event: Event) -> None:
        """Look at an event as one of the observers got it."""

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Yield a finding for every check of this monitor that had something to look at."""


class Pulse:
    """GEN-HLTH-04: is the server there while everything else is going on."""

    def __init__(self, run: Run) -> None:
        self._tally = Tally("GEN-HLTH-04")
        self._slowest = run.wait(_SLOWEST_SECONDS)
        self._client = Client(
            run.instance.base_url,
            Recorder(run.id),
            actor="the pulse",
            seconds=run.wait(10),
            verify_tls=run.instance.network.verify_tls,
        )

    async def beat(self) -> None:
        """Ask for the server's health once a second, until cancelled."""
        try:
            while True:
                self._tally.look("GEN-HLTH-04", await self._ask())
                await trio.sleep(_PULSE_SECONDS)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                await self._client.aclose()

    async def _ask(self) -> str:
        began = time.monotonic()
        try:
            (await self._client.get("/health")).expect(200)
        except Miss as miss:
            return str(miss)
        took = time.monotonic() - began
        return f"GET /health took {took:.1f} s" if took > self._slowest else ""

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Yield the finding about it."""
        return self._tally.findings(registry)


class Monitors:
    """All monitors of a run. They look on from the moment this is made."""

    def __init__(self, run: Run) -> None:
        self.monitors: list[Monitor] = [*answer_monitors(run), *event_monitors(run)]
        self._seconds = [0.0] * len(self.monitors)
        self._pulse = Pulse(run)
        run.recorder.watchers.append(self._answered)
        run.observer_watchers.append(self._event)

    async def look_on(self) -> None:
        """Do what a monitor does by itself, until cancelled."""
        await self._pulse.beat()

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Yield a finding for every monitored check that had something to look at.

        The checks of one monitor look at the same things together, so each took its share of the time.
        """
        for number, one in enumerate(self.monitors):
            with self._timed(number):
                found = list(one.findings(registry))
            for finding in found:
                finding.seconds = self._seconds[number] / len(found)
            yield from found
        yield from self._pulse.findings(registry)

    def _answered(self, answered: Answered, exchange: Exchange) -> None:
        for number, one in enumerate(self.monitors):
            with self._timed(number):
                one.answered(answered, exchange)

    def _event(self, observer: Observer, event: Event) -> None:
        for number, one in enumerate(self.monitors):
            with self._timed(number):
                one.event(observer, event)

    @contextmanager
    def _timed(self, number: int) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[number] += time.perf_counter() - began
