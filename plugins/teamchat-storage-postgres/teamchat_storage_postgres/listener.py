"""LISTEN, on a connection of its own: a wake-up for those who follow the log, and signals.

Nothing that is heard here is needed for anything to be right.  A notification that is
lost, with its connection or in any other way, costs followers the time until they look by themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import trio

from teamchat import StorageError
from teamchat_storage_postgres.connection import Connection, Notice
from teamchat_storage_postgres.failures import ConnectionLost
from teamchat_storage_postgres.pool import Connect

HEARTBEAT_SECONDS = 15.0
RETRY_SECONDS = 1.0


async def listen(
    connect: Connect,
    channel: str,
    wake: Callable[[], object],
    signals: str = "",
    take: Callable[[str], object] = lambda _: None,
    is_known: Callable[[Notice], bool] = lambda _: False,
) -> None:
    """Call `wake` for every notification, and for every one that may have been missed, until cancelled.

    One of which it `is_known` what it tells wakes nobody, and so does what comes on the channel `signals`,
    which is given to `take`.
    """
    while True:
        try:
            connection = await connect()
            try:
                await connection.run(f"listen {channel}")
                if signals:
                    await connection.run(f"listen {signals}")
                await _hear(connection, wake, signals, take, is_known)
            finally:
                await connection.close()
        except (psycopg.Error, ConnectionLost, StorageError):
            await trio.sleep(RETRY_SECONDS)


async def _hear(
    connection: Connection,
    wake: Callable[[], object],
    signals: str,
    take: Callable[[str], object],
    is_known: Callable[[Notice], bool],
) -> None:
    wake()
    while True:
        found: list[Notice] = []
        with trio.move_on_after(HEARTBEAT_SECONDS) as silence:
            found = await connection.notified()
        if silence.cancelled_caught:
            await connection.run("select 1")  # Is anybody there? Notifications may come with the answer.
        for notice in found:
            if notice.channel == signals:
                take(notice.payload)
        if any(one.channel != signals and not is_known(one) for one in found) or not found:
            wake()
