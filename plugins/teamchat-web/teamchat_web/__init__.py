"""The plugin that serves the web client at ``/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import hookimpl
from teamchat_web.pages import blueprint
from teamchat_web.site import CLIENT, build

if TYPE_CHECKING:
    from quart import Blueprint

    from teamchat.application import Application

__all__ = ["CLIENT", "blueprint", "build", "routes"]


@hookimpl
def routes(app: Application) -> Sequence[Blueprint]:  # noqa: ARG001
    """Offer ``/``, ``/manifest.webmanifest``, ``/sw.js`` and ``/client/<digest>/<path>``."""
    return [blueprint(build(CLIENT))]
