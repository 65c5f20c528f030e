"""Doing what many ask for at the same time once for all of them, in rounds.

Whoever comes during a round joins the next one, which begins after all of them have asked; so each gets what
holds at a moment after their question. However many ask, there are at most two rounds: one running and one
gathering.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import trio

from teamchat.errors import Unavailable

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")


class _Round(Generic[Asked, Answered]):
    """Those who share one; `failure` is theirs as long as it has not ended well."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: Sequence[Answered | Exception] = ()
        self.failure: Exception | None = Unavailable("What was asked for was broken off. Try again later.")
        self.finished = trio.Event()


class Together(Generic[Asked, Answered]):
    """Rounds of one kind. `do` returns an answer for each of those who ask, or what to raise, in their order.

    What `do` raises is raised to all.
    """

    def __init__(self, do: Callable[[Sequence[Asked]], Awaitable[Sequence[Answered | Exception]]]) -> None:
        self._do = do
        self._turn = trio.Lock()
        self._gathering: _Round[Asked, Answered] = _Round()

    async def ask(self, one: Asked) -> Answered:
        """Take part in the next round, and return one's own answer or raise one's own failure."""
        joined, place = self._gathering, len(self._gathering.asked)
        joined.asked.append(one)
        if place == 0:
            # Others wait for it, whatever becomes of who came first.
            with trio.CancelScope(shield=True):
                await self._lead(joined)
        else:
            await joined.finished.wait()
        if joined.failure is not None:
            raise joined.failure
        answer = joined.answers[place]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _lead(self, led: _Round[Asked, Answered]) -> None:
        try:
            async with self._turn:
                self._gathering = _Round()
                led.answers = await self._do(led.asked)
                led.failure = None
        except Exception as error:
            led.failure = error
        finally:
            led.finished.set()
