"""Serves a configuration on PostgreSQL in place of SQLite: ``serve_on_postgres.py --config FILE …``.

The database belongs to the configuration's file, as a data directory would.  It is made
when it is not there, found again after a restart, and no other configuration gets it.  All else is as the
configuration says.  The server is the one of ``TEAMCHAT_TEST_POSTGRES_URL`` (`tests.on_postgres`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo


def main(arguments: list[str]) -> None:
    server = os.environ["TEAMCHAT_TEST_POSTGRES_URL"]
    config = Path(arguments[arguments.index("--config") + 1]).resolve()
    name = "of_" + hashlib.sha256(str(config).encode()).hexdigest()[:24]
    with suppress(psycopg.errors.DuplicateDatabase), psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")  # type: ignore[call-overload]
    os.environ["TEAMCHAT_STORAGE__BACKEND"] = "postgres"
    os.environ["TEAMCHAT_STORAGE__URL"] = make_conninfo(server, dbname=name)
    os.execv(sys.executable, [sys.executable, "-m", "teamchat", "serve", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
