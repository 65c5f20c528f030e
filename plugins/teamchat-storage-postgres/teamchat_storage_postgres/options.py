"""The keys of ``[storage]`` for the backend ``postgres``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

_Seconds = Annotated[float, Meta(gt=0, le=3600)]


class PostgresOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which database, and for how long anything may be waited for, in seconds.

    `url` is a PostgreSQL connection URL (or ``key=value`` pairs); what it leaves out, the variables of
    libpq (``PGPASSWORD`` …) and ``~/.pgpass`` say.  `pool_size` is how many transactions read at a time;
    three more connections write, follow the log's position and listen.
    """

    url: Annotated[str, Meta(extra={"secret": True})]
    pool_size: Annotated[int, Meta(ge=1, le=1000)] = 10
    connect_seconds: _Seconds = 5.0
    acquire_seconds: _Seconds = 10.0
    statement_seconds: _Seconds = 30.0

    def __repr__(self) -> str:
        return f"PostgresOptions(pool_size={self.pool_size!r})"
