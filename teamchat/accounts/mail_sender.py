"""The service that sends what waits in the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat.hookspecs import hookimpl
from teamchat.interfaces import Service

if TYPE_CHECKING:
    from teamchat.application import Application


@hookimpl
def services(app: Application) -> Sequence[Service]:  # noqa: ARG001
    """Offer the sender of mail."""
    return []
