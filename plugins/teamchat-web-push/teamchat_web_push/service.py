"""The service that sends pushes: in one process of the installation at a time, which another one replaces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import trio

from teamchat import Lease, LeaseLost, LoggedEvent, Notices, StorageError, Unavailable
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_web_push.connection import Services, open_services
from teamchat_web_push.options import PushOptions
from teamchat_web_push.queue import Queue
from teamchat_web_push.sender import Sender
from teamchat_web_push.vapid import Vapid, VapidKey

if TYPE_CHECKING:
    from teamchat import Teamchat

LEASE = "web-push"
_AGAIN_SECONDS = 2.0

_log = get_logger(__name__)


class Pushing:
    """Follows the log, and sends what is due. A `teamchat.Service`."""

    name = "web push"

    def __init__(self, app: Teamchat, notices: Notices, options: PushOptions, key: VapidKey) -> None:
        self._app, self._notices, self._options, self._key = app, notices, options, key

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Make the server's key if there is none; then run until cancelled."""
        vapid = await self._key.get()
        task_status.started()
        outage = Outage(_log, "pushes pause")
        async with open_services(self._options.allowed_hosts) as services:
            while True:
                with outage.noted(StorageError, Unavailable, LeaseLost):
                    await self._hold(services, vapid, outage)
                await trio.sleep(_AGAIN_SECONDS)

    async def _hold(self, services: Services, vapid: Vapid, outage: Outage) -> None:
        lease = Lease(self._app.storage, LEASE)
        await lease.take()
        queue = Queue(self._app.storage, self._notices)
        sender = Sender(
            self._app,
            self._notices,
            queue,
            services,
            vapid,
            most_shown=self._options.preview,
            is_allowed=lambda: lease.is_held,
        )
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lease.keep)
                await catch_up(self._app, lease, queue, sender)
                outage.is_over()
                nursery.start_soon(sender.run)
                await follow(self._app, lease, queue, sender)
        finally:
            await lease.give_back()


async def catch_up(app: Teamchat, lease: Lease, queue: Queue, sender: Sender) -> None:
    """Take what the log has told by now.

    Nothing is sent before: sessions may have ended while Web Push was off, and their devices with them.
    """
    first, last = await app.storage.log_bounds()
    if lease.position < first - 1:
        await queue.ends.end_doubtful()
    if lease.position < last:
        await follow(app, lease, queue, sender, until=last)


async def follow(
    app: Teamchat, lease: Lease, queue: Queue, sender: Sender, *, until: int | None = None
) -> None:
    """Put what the log tells into the queue, for ever, or as far as the event with that number."""
    followed = app.storage.follow(lease.position)
    async with aclosing(cast("AsyncGenerator[Sequence[LoggedEvent], None]", followed)) as log:
        async for events in log:
            for event in events:
                if await queue.hear(event):
                    sender.look()
                lease.position = event.seq
            if until is not None and lease.position >= until:
                return
