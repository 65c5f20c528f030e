"""LISTEN, on a connection of its own: a wake-up for those who follow the log, and nothing more.

What must stay true: nothing that is heard here is needed for anything to be right.  A notification that is
lost, with its connection or in any other way, costs followers the time until they look by themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import trio

from teamchat import StorageError
from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.failures import ConnectionLost
from teamchat_storage_postgres.pool import Connect

HEARTBEAT_SECONDS = 15.0
RETRY_SECONDS = 1.0


async def listen(connect: Connect, channel: str, wake: Callable[[], object]) -> None:
    """Call `wake` for every notification, and for every one that may have been missed, until cancelled."""
    while True:
        try:
            connection = await connect()
            try:
                await connection.run(f"listen {channel}")
                await _hear(connection, wake)
            finally:
                await connection.close()
        except (psycopg.Error, ConnectionLost, StorageError):
            await trio.sleep(RETRY_SECONDS)


async def _hear(connection: Connection, wake: Callable[[], object]) -> None:
    wake()
    while True:
        with trio.move_on_after(HEARTBEAT_SECONDS) as silence:
            await connection.notified()
        if silence.cancelled_caught:
            await connection.run("select 1")  # Is anybody there? Notifications may come with the answer.
        wake()
