"""What the bodies of transactions are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from teamchat import Event, StorageError
from teamchat.storage.log import Blanking, blank_in
from teamchat_storage_postgres.connection import Connection, Row
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable, refused
from teamchat_storage_postgres.migrations import translated


class ReadingTransaction:
    """`teamchat.Transaction` that only reads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        try:
            return await self._connection.run(sql, *params)
        except ConnectionLost:
            raise DatabaseUnavailable("ended the connection") from None
        except psycopg.Error as error:
            raise refused(error) from None

    async def define(self, statement: str) -> None:
        await self.fetch(translated(statement))

    async def append(self, _: Event) -> None:
        raise StorageError("An event can be appended in a writing transaction alone.")

    async def blank(self, _: str, __: Sequence[str] | None = None, ___: Sequence[str] | None = None) -> None:
        raise StorageError("The log can be changed in a writing transaction alone.")

    async def advance_log(self, _: int) -> None:
        raise StorageError("The log can be advanced in a writing transaction alone.")


class WritingTransaction(ReadingTransaction):
    """`teamchat.Transaction` for one body of a batch."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.events: list[Event] = []
        self.blankings: list[Blanking] = []

    async def append(self, event: Event) -> None:
        event.check()
        self.events.append(event)

    async def blank(
        self,
        room_id: str,
        message_ids: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        await blank_in(self, room_id, message_ids, fields)
        blanking = Blanking(room_id, None if message_ids is None else frozenset(message_ids), fields)
        self.events = blanking.of(self.events)
        self.blankings.append(blanking)

    async def advance_log(self, last: int) -> None:
        await self.fetch("update teamchat_log_end set last = greatest(last, $1)", last)
