"""The embedded storage: SQLite through apsw, for one process or for several on one machine.

`storage` has group commit and the log, `transaction` what bodies get, `turns` which process writes next,
`committing` the thread of commits, `connections` a connection and its schema, `upgrading` the copy before an
upgrade, and its rehearsal; `opening` puts all of it together.
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
