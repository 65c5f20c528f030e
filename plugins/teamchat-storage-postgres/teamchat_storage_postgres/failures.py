"""What goes wrong with a database, told as teamchat tells it.

`DatabaseUnavailable` means that nothing was changed; where that is not certain it is
not raised.  No error carries what PostgreSQL said, for its sentences quote values: only the name and code
of the error (PostgreSQL's manual, appendix A).
"""

from __future__ import annotations

import psycopg

from teamchat import StorageError, Unavailable


class DatabaseUnavailable(Unavailable, StorageError):
    """The database can't be used now, and nothing was changed: a client gets 503 and may try again."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The database {why}. Nothing was changed; try again later.")


class ConnectionLost(Exception):
    """The connection has ended, and with it what was under way on it. Never leaves this plugin."""


_PASSING = {
    "25": "takes no writes now",  # a standby that has not taken over yet
    "40": "was asked for the same by two at a time",
    "53": "has too little of something: room, memory or connections",
    "55": "has too much to do",
    "57": "took too long",
    "58": "failed",
}


def refused(error: psycopg.Error) -> StorageError:
    """Return what to raise for a statement, or a commit, that the server said it did not carry out."""
    name, code = type(error).__name__, error.sqlstate or ""
    if code[:2] in _PASSING and code != "25P02":
        return DatabaseUnavailable(f"{_PASSING[code[:2]]} ({code})")
    if code == "42501":
        return StorageError(
            "The user of storage.url has too few rights in the database. Make that user the owner of the "
            "database, and of the tables in it if there are any."
        )
    return StorageError(f"PostgreSQL refused a statement: {name}{f' ({code})' if code else ''}.")


def unreachable(error: psycopg.Error) -> DatabaseUnavailable:
    """Return what to raise when no connection could be made, told apart as far as that helps an operator."""
    said = str(error)
    if any(
        part in said for part in ("too many clients", "remaining connection slots", "too many connections")
    ):
        return DatabaseUnavailable("takes no more connections; see storage.poolSize")
    if any(
        part in said for part in ("authentication failed", "no password supplied", 'role "', "pg_hba.conf")
    ):
        return DatabaseUnavailable("does not take the user or the password of storage.url")
    if 'database "' in said and "does not exist" in said:
        return DatabaseUnavailable("that storage.url names does not exist on its server")
    if "SSL" in said or "certificate" in said:
        return DatabaseUnavailable("and storage.url do not agree on encryption (sslmode, sslrootcert)")
    return DatabaseUnavailable("can't be reached at the address of storage.url")
