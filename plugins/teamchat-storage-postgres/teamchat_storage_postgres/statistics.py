"""What PostgreSQL plans its statements by: it is gathered where there is none yet.

PostgreSQL gathers statistics by itself, within minutes of what is written.  A database that was just filled,
by an import or a move, or that `pg_restore` or `pg_upgrade` has brought in, has none until then (PostgreSQL's
manual, 24.1.3), and its plans read whole tables for a single row.  So a server that starts looks for that.
"""

from __future__ import annotations

import logging

import psycopg

from teamchat_storage_postgres.connection import Connection
from teamchat_storage_postgres.failures import ConnectionLost, DatabaseUnavailable

_log = logging.getLogger(__name__)

_LARGE = 64 * 1024
"""Bytes of rows from which on a bad plan is felt."""
_UNKNOWN = """select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema and c.relkind = 'r' and c.reltuples < 0 and pg_relation_size(c.oid) > $1
and pg_has_role(c.relowner, 'usage')"""


async def gather(connection: Connection) -> None:
    """Have PostgreSQL look at the large tables that it never looked at. Raises `DatabaseUnavailable`.

    If it refuses to, or takes too long, it plans without, and will look by itself.
    """
    try:
        tables = [name for (name,) in await connection.run(_UNKNOWN, _LARGE)]
        if tables:
            _log.info("gathering statistics of %d tables", len(tables))
            # What another process looks at now is left to that.
            await connection.run(f"analyze (skip_locked) {', '.join(tables)}")
    except ConnectionLost:
        raise DatabaseUnavailable("ended the connection") from None
    except psycopg.Error as error:
        await connection.roll_back()
        _log.warning("statistics of the tables can't be gathered: %s", type(error).__name__)
