"""A storage that knows what each task has written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from teamchat import Transaction
from teamchat.interfaces import Storage


class Watched:
    """A storage that knows which statements each task runs in writing transactions."""

    def __init__(self, storage: Storage) -> None:
        self.unwatched = storage
        self.written: dict[trio.lowlevel.Task, list[str]] = {}
        """What each task ran and was not refused, from when it asked to write."""
        self.committed: dict[trio.lowlevel.Task, list[str]] = {}
        """What each task ran in transactions that were committed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unwatched, name)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        task = trio.lowlevel.current_task()
        statements = self.written.setdefault(task, [])
        before = len(statements)
        async with self.unwatched.write() as tx:
            yield _WatchedTransaction(tx, statements)
        self.committed.setdefault(task, []).extend(statements[before:])


class _WatchedTransaction:
    def __init__(self, tx: Transaction, statements: list[str]) -> None:
        self._tx = tx
        self._statements = statements

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def fetch(self, sql: str, *params: Any) -> list[Any]:
        rows = await self._tx.fetch(sql, *params)
        self._statements.append(sql)
        return rows

    async def append(self, event: Any) -> None:
        self._statements.append(f"append {event.type}")
        await self._tx.append(event)
