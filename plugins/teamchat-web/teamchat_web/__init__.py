"""The plugin that serves the web client at ``/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import hookimpl
from teamchat_web.pages import section
from teamchat_web.site import CLIENT, build

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat.web import Section

__all__ = ["CLIENT", "build", "routes", "section"]


@hookimpl
def routes(app: Teamchat) -> Sequence[Section]:
    """Offer ``/``, ``/manifest.webmanifest``, ``/sw.js`` and ``/client/<digest>/<path>``."""
    return [section(build(CLIENT, app.client_folders))]
