"""What the bodies of transactions get.

A body can't continue after a failed statement, as on every other storage: SQLite may have rolled everything
back by then, as it does when the disk is full, and whatever came next would be committed on its own. No error
contains SQLite's own message, because that may quote what was given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import apsw

from teamchat.errors import StorageError, Unavailable
from teamchat.events import Event
from teamchat.interfaces import Row
from teamchat.model import now_ms
from teamchat.storage.log import blank_in, encoded_audience
from teamchat.storage.sqlite.connections import DIALECT, cause


class DiskUnwritable(Unavailable, StorageError):
    """The disk takes no writes, and nothing was changed: a client gets 503 and may try again."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"SQLite {what}: {why}. Nothing was changed; try again later.")


class SqliteTransaction:
    """A transaction on one of the connections; it never waits, which is why it is fast."""

    def __init__(self, connection: apsw.Connection, *, writable: bool) -> None:
        self._connection = connection
        self._writable = writable
        self._refusal: str | None = None

    async def fetch(self, sql: str, *params: Any) -> list[Row]:
        self.check()
        try:
            return self._connection.execute(_numbered(sql), params).fetchall()
        except apsw.Error as error:
            if self._writable:
                self._refusal = "A statement of the transaction failed, and it went on."
            if isinstance(error, apsw.ReadOnlyError) and not self._writable:
                raise StorageError("Rows can be changed in a writing transaction alone.") from error
            raise failure_of("refused a statement", error) from error

    async def define(self, statement: str) -> None:
        await self.fetch(statement.format(**DIALECT))

    def check(self) -> None:
        """Raise `StorageError` if it has ended, or if a statement has failed where it writes."""
        if self._refusal is not None:
            raise StorageError(self._refusal)

    def end(self) -> None:
        """Take no statements any more: they would be others' on this connection."""
        self._refusal = "The transaction has ended."

    async def append(self, event: Event) -> None:
        if not self._writable:
            raise StorageError("An event can be appended in a writing transaction alone.")
        event.check()
        await self.fetch(
            """insert into events (type, audience, payload, created_at, text_room, text_message)
            values ($1, $2, $3, $4, $5, $6)""",
            event.type,
            encoded_audience(event.audience),
            event.payload,
            now_ms(),
            event.text_room,
            event.text_message,
        )

    async def blank(
        self,
        room_id: str,
        message_ids: Sequence[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> None:
        if not self._writable:
            raise StorageError("The log can be changed in a writing transaction alone.")
        await blank_in(self, room_id, message_ids, fields)

    async def advance_log(self, last: int) -> None:
        if not self._writable:
            raise StorageError("The log can be advanced in a writing transaction alone.")
        await self.fetch(
            "insert into sqlite_sequence (name, seq) select 'events', 0"
            " where not exists (select 1 from sqlite_sequence where name = 'events')"
        )
        await self.fetch("update sqlite_sequence set seq = max(seq, $1) where name = 'events'", last)


def failure_of(what: str, error: BaseException) -> StorageError:
    """Return what is raised for an error of SQLite's, whose own message may quote what was given."""
    if isinstance(error, apsw.FullError | apsw.ReadOnlyError) or _failed_to_write(error):
        failure: StorageError = DiskUnwritable(what, cause(error))
    else:
        failure = StorageError(f"SQLite {what}: {cause(error)}.")
    failure.__cause__ = error  # By it the log distinguishes a full disk from other failures.
    return failure


def _failed_to_write(error: BaseException) -> bool:
    """Whether the system refused a write.

    Not where it refused to have it reach the disk (IOERR_FSYNC): then a commit may be there after a crash.
    """
    return isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE


@lru_cache(maxsize=512)
def _numbered(sql: str) -> str:
    """Turn ``$1`` into ``?1``: SQLite numbers the former by appearance, not by its number."""
    return re.sub(r"\$(\d+)", r"?\1", sql)
