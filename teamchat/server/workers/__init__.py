"""Several processes that serve as one (``server.workers``).

The parts: `count` (how many there are to be), `supervisor` (starts them, replaces them, ends them), `worker`
(one of them, as the supervisor sees it), `line` (what the two say to each other), `serving` (what runs in a
worker).  With one process there is none of this: it serves by itself, as `teamchat.server` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat import server
from teamchat.server.workers import supervisor
from teamchat.server.workers.count import how_many

if TYPE_CHECKING:
    from teamchat.plugins import Plugins
    from teamchat.settings import Settings


def run(settings: Settings, plugins: Plugins) -> None:
    """Serve with as many processes as the settings say, until SIGTERM or SIGINT.

    Raises an `OperatorError` if the server can't start or has crashed.
    """
    count = how_many(settings.server.workers)
    if count == 1:
        server.run(settings, plugins)
    else:
        supervisor.run(settings, plugins, count)
