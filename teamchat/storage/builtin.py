"""The plugin that offers the embedded storage, by the same hook as any other plugin."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.interfaces import Backend, Storage
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.storage.sqlite import SqliteOptions, open_sqlite, present_schema, rehearse_upgrade


@hookimpl
def storages() -> Sequence[Backend[Storage]]:
    """Offer ``sqlite``."""
    return [Backend("sqlite", open_sqlite, SqliteOptions, rehearse_upgrade, present_schema)]
