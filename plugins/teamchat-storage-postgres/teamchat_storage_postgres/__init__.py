"""The plugin that offers the storage ``postgres``."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Backend, Storage, hookimpl
from teamchat_storage_postgres.options import PostgresOptions
from teamchat_storage_postgres.storage import PostgresStorage, open_postgres, present_schema, rehearse_upgrade

__all__ = [
    "PostgresOptions",
    "PostgresStorage",
    "open_postgres",
    "present_schema",
    "rehearse_upgrade",
    "storages",
]


@hookimpl
def storages() -> Sequence[Backend[Storage]]:
    """Offer ``postgres``."""
    return [Backend("postgres", open_postgres, PostgresOptions, rehearse_upgrade, present_schema)]
