"""The embedded storage: SQLite through apsw, for one process or for several on one machine.

The parts: `storage` (group commit, the log), `transaction` (what bodies are given), `turns` (which process
writes next), `committing` (the thread of commits), `connections` (a connection and the schema), `upgrading`
(a copy of what was, and a rehearsal), `opening` (all of it put together).
"""

from teamchat.storage.sqlite.opening import (
    DATABASE_NAME,
    SqliteOptions,
    open_sqlite,
    present_schema,
    refuse_closed,
    rehearse_upgrade,
    why_closed,
)
from teamchat.storage.sqlite.storage import DatabaseBusy, SqliteStorage

__all__ = [
    "DATABASE_NAME",
    "DatabaseBusy",
    "SqliteOptions",
    "SqliteStorage",
    "open_sqlite",
    "present_schema",
    "refuse_closed",
    "rehearse_upgrade",
    "why_closed",
]
