"""The service that removes what has expired: events, keys, sessions, images, and messages if configured.

Each job is small, and may run at any moment and on several servers at once. A job that fails is tried again
the next time: housekeeping must not end a server that can still serve.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import trio

from teamchat.accounts import idempotency
from teamchat.capabilities import Job
from teamchat.chat.leaving import forsaken
from teamchat.chat.retention import Retention
from teamchat.interfaces import Service
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.storage.parts import delete_in_parts

if TYPE_CHECKING:
    from teamchat.application import Application

HOUSEKEEPING_SECONDS = 3600
DOOMED_IMAGES_SECONDS = 30
DELETED_ROOMS_SECONDS = 5

_log = get_logger(__name__)


class Sweeper:
    """Removes deleted rooms, doomed images and what has had its time, each at its interval, and at once."""

    name = "sweeper"

    def __init__(self, app: Application) -> None:
        self._app = app

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_repeat, HOUSEKEEPING_SECONDS, self._housekeeping())
            nursery.start_soon(_repeat, DOOMED_IMAGES_SECONDS, [self._app.chat.images.remove_doomed])
            # Apart from the others, as what follows: it may take minutes.
            nursery.start_soon(_repeat, DELETED_ROOMS_SECONDS, [self._app.chat.deletion.sweep])
            if days := self._app.settings.chat.retention_days:
                # The first time it may take hours.
                nursery.start_soon(_repeat, HOUSEKEEPING_SECONDS, [partial(self.forget_messages, days)])
            task_status.started()

    def _housekeeping(self) -> Sequence[Job]:
        app = self._app
        jobs: list[Job] = [self.forget_events, self.forget_keys, app.accounts.sweep, app.chat.images.sweep]
        jobs += [app.chat.groups.remove_empty, app.audit.sweep, self.hand_over]
        return [*jobs, *app.capabilities.jobs]

    async def forget_events(self) -> None:
        """Remove events older than ``events.retentionSeconds``.

        Only from the log's beginning: a hole would be a gap for a stream that resumes (D-34), and the
        wall clock that dates events may have been set back.
        """
        storage = self._app.storage
        oldest_kept = now_ms() - self._app.settings.events.retention_seconds * 1000
        async with storage.read() as tx:
            [(first_kept,)] = await tx.fetch(
                "select min(seq) from events where created_at >= $1", oldest_kept
            )
            if first_kept is None:
                [(newest,)] = await tx.fetch("select max(seq) from events")
                first_kept = (newest or 0) + 1
        await delete_in_parts(
            storage,
            "delete from events where seq in"
            " (select seq from events where seq < $1 order by seq limit {}) returning 1",
            first_kept,
        )

    async def hand_over(self) -> None:
        """Give channels a manager whose own were deactivated by a server that ended before it had done so."""
        async with self._app.storage.read() as tx:
            users = await forsaken(tx)
        await self._app.accounts.users.settle(users)

    async def forget_messages(self, days: int) -> None:
        """Remove messages older than ``chat.retentionDays``."""
        removed = await Retention(self._app.storage, days, self._app.capabilities).sweep()
        if removed:
            _log.info("messages that were too old have been removed", count=removed)

    async def forget_keys(self) -> None:
        """Remove Idempotency-Keys of more than 24 hours ago."""
        before = now_ms() - idempotency.KEPT_MS
        await delete_in_parts(self._app.storage, idempotency.FORGET, before)


async def _repeat(seconds: float, jobs: Sequence[Job]) -> None:
    event = "a housekeeping job failed and will be tried again"
    outages = [Outage(_log, event, logging.ERROR) for _ in jobs]
    while True:
        for job, outage in zip(jobs, outages, strict=True):
            with outage.noted(Exception):
                await job()
        await trio.sleep(seconds)


@hookimpl
def services(app: Application) -> Sequence[Service]:
    """Offer the sweeper."""
    return [Sweeper(app)]
