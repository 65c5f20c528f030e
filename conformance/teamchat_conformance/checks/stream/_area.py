"""The area that the modules of this package add their checks to, and steps they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio

from teamchat_conformance import sse
from teamchat_conformance.actors import Actor
from teamchat_conformance.expect import Answered
from teamchat_conformance.registry import Area
from teamchat_conformance.sse import Event, Observer

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area = Area("SSE", "Event stream")


async def knock(run: Run, token: str | None, **options: Any) -> Answered:
    """Ask for the stream and return the answer; of a stream that opens, only the head."""
    async with sse.listening(
        run.instance.base_url,
        run.recorder,
        name="someone",
        token=token,
        verify_tls=run.instance.network.verify_tls,
        seconds=run.wait(10),
        **options,
    ) as observer:
        exchange = run.recorder.last()
        if observer.status != 200:
            await observer.ended(run.wait(5))
        headers = [(name.lower(), value) for name, value in observer.headers]
        body = b"".join(data for _, data in observer.pieces)
        return Answered("GET", "/events", "someone", observer.status, headers, body, exchange)


@asynccontextmanager
async def listening_to(run: Run, *actors: Actor) -> AsyncIterator[list[Observer]]:
    """Open a stream for each of these."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(run.listen(actor)) for actor in actors]


async def expiry(run: Run, token: str) -> None:
    """Wait until an access token is refused."""
    with trio.move_on_after(run.instance.auth.access_seconds + run.wait(10)):
        while True:
            if (await run.n.get("/auth/me", token=token)).status != 200:
                return
            await trio.sleep(0.25)


def about(events: list[Event], *marks: str) -> list[str]:
    """Return the types of those events in which one of these ids or texts stands."""
    return [event.type for event in events if any(mark in event.data for mark in marks)]
