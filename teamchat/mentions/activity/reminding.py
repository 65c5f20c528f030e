"""The service that puts reminders into the feed when they are due (extension H-7).

Capabilities say which are due (`teamchat.capabilities.reminders`). The item, the record that it was given,
and the event are one transaction, so each comes once, on whichever server and whatever crashes. Users who no
longer see the message are told nothing, and find the item when they see the message again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio

from teamchat.capabilities import Reminder
from teamchat.chat import sight
from teamchat.errors import StorageError, Unavailable
from teamchat.interfaces import Transaction
from teamchat.mentions.activity.events import NewActivity
from teamchat.mentions.activity.noting import only
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage

if TYPE_CHECKING:
    from teamchat.application import Application

LOOK_SECONDS = 5.0
_STANDS = """select m.room_id, m.parent_id from messages m
join users u on u.id = $2 and u.removed_at is null where m.id = $1"""
_NOTE = """insert into activity_reminders (user_id, message_id, reached) values ($1, $2, $3)
on conflict (user_id, message_id) do update set reached = excluded.reached"""

_log = get_logger(__name__)


class Reminding:
    """Looks for reminders that are due. A `teamchat.Service`."""

    name = "reminders"

    def __init__(self, app: Application) -> None:
        self._app = app

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled."""
        task_status.started()
        outage = Outage(_log, "reminders pause")
        while True:
            with outage.noted(StorageError, Unavailable):
                await self.give(now_ms())
            await trio.sleep(LOOK_SECONDS)

    async def give(self, now: int) -> int:
        """Give all reminders that are due by a time, and return how many there were."""
        given = 0
        for reminders in self._app.reminders:
            while True:
                async with self._app.storage.read() as tx:
                    if not await reminders.are_due(tx, now):
                        break
                async with self._app.storage.write() as tx:
                    taken = await reminders.take(tx, now)
                    await _note(tx, taken)
                given += len(taken)
        return given


async def _note(tx: Transaction, reminders: Sequence[Reminder]) -> None:
    for user_id, message_id in reminders:
        rows = await tx.fetch(_STANDS, message_id, user_id)
        if not rows:
            continue
        [(room_id, parent_id)] = rows
        reached = new_id()
        await tx.fetch(_NOTE, user_id, message_id, reached)
        room = await sight.made(tx, room_id)
        event = NewActivity(reached, "reminder", room_id, user_id, message_id)
        await tx.append(event.to(only(room, parent_id or message_id, [user_id])))
