"""The service that measures how late the event loop wakes who asked for it, and shares what was measured."""

from __future__ import annotations

from collections.abc import Callable

import trio

from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_metrics.exposition import Reading
from teamchat_metrics.sharing import Shared

LAG_SECONDS = 0.5
SHARE_SECONDS = 5.0

_log = get_logger(__name__)


class Watch:
    """Asks to be woken twice a second; with several workers it writes their files too."""

    name = "metrics"

    def __init__(self, reading: Reading, shared: Shared | None) -> None:
        self._reading = reading
        self._shared = shared

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Measure until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(measure_lag, metrics.loop_lag.observe)
            if self._shared is not None:
                await trio.to_thread.run_sync(self._shared.clear)
                nursery.start_soon(self._share, self._shared)
            task_status.started()

    async def _share(self, shared: Shared) -> None:
        outage = Outage(_log, "the measures of this worker can't be written")
        try:
            while True:
                with outage.noted(OSError):
                    await shared.write(await self._reading.text())
                await trio.sleep(SHARE_SECONDS)
        finally:
            shared.remove()


async def measure_lag(observe: Callable[[float], object]) -> None:
    """Tell for ever how many seconds too late a sleep ends."""
    while True:
        wanted = trio.current_time() + LAG_SECONDS
        await trio.sleep_until(wanted)
        observe(max(0.0, trio.current_time() - wanted))
