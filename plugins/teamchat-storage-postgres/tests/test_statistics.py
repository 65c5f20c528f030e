"""A server that starts has PostgreSQL know what is in its tables."""

from __future__ import annotations

import logging

import pytest
from teamchat_storage_postgres import PostgresOptions, statistics
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres

from teamchat.interfaces import Storage
from teamchat.testing.storage import set_value, values

_ENTRIES = 2000
_KNOWN = "select reltuples from pg_class where oid = $1::regclass"


async def _fill(storage: Storage) -> None:
    """Write a table full, and have it that PostgreSQL, which looks at it by itself, has not done so yet."""
    async with storage.write() as tx:
        await tx.fetch("alter table audit_entries set (autovacuum_enabled = false)")
        await tx.fetch(
            """insert into audit_entries (id, at, action, target_type, target_id, details)
            select 'entry ' || number, number, 'channel.delete', 'channel', 'one of many', '{}'
            from generate_series(1, $1) as number""",
            _ENTRIES,
        )


async def _known(storage: Storage, table: str) -> float:
    """Return how many rows PostgreSQL takes a table to have, less than 0 where it does not know."""
    async with storage.read() as tx:
        [(rows,)] = await tx.fetch(_KNOWN, table)
    return float(rows)


async def test_a_database_that_was_filled_is_looked_at_when_a_server_starts(options: PostgresOptions) -> None:
    async with open_postgres(options) as storage:
        await _fill(storage)
        assert await _known(storage, "audit_entries") < 0
    async with open_postgres(options) as storage:
        assert await _known(storage, "audit_entries") == _ENTRIES


async def test_what_is_small_is_left_alone(options: PostgresOptions, storage: PostgresStorage) -> None:
    async with storage.write() as tx:
        await tx.fetch("alter table server_settings set (autovacuum_enabled = false)")
        await set_value(tx, "kept", "yes")
    async with open_postgres(options) as started:
        assert await _known(started, "server_settings") < 0


async def test_a_server_starts_though_nothing_can_be_gathered(
    options: PostgresOptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(statistics, "_UNKNOWN", "select 'no_such_table' where $1::bigint > 0")
    with caplog.at_level(logging.WARNING):
        async with open_postgres(options) as storage, storage.write() as tx:
            await set_value(tx, "kept", "yes")
        assert "statistics of the tables can't be gathered: UndefinedTable" in caplog.text
    async with open_postgres(options) as storage:
        assert await values(storage) == {"kept": "yes"}
