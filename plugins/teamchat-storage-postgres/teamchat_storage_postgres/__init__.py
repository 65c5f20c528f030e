"""The plugin that offers the storage ``postgres``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from teamchat import Backend, Storage, hookimpl
from teamchat_storage_postgres.options import PostgresOptions

__all__ = ["PostgresOptions", "storages"]


@hookimpl
def storages() -> Sequence[Backend[Storage]]:
    """Offer ``postgres``."""
    return [
        Backend(
            "postgres",
            _late("open_postgres"),
            PostgresOptions,
            _late("rehearse_upgrade"),
            _late("present_schema"),
        )
    ]


def _late(function: str) -> Callable[..., Any]:
    """Return a function of the storage, which is loaded when it is called.

    With its driver it takes 9 MiB, and the plugin is installed beside every server.
    """
    return lambda *given: getattr(import_module("teamchat_storage_postgres.storage"), function)(*given)
