"""The pages are held to what every plugin's routes are held to."""

from __future__ import annotations

from collections.abc import Sequence

import teamchat_web

from teamchat.application import Application
from teamchat.testing import RoutesContract
from teamchat.web import Section


class TestPages(RoutesContract):
    def routes(self, app: Application) -> Sequence[Section]:
        return teamchat_web.routes(app)
