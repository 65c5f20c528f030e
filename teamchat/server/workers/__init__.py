"""Several processes that serve as one (``server.workers``).

`count` says how many there are, `supervisor` starts, replaces and ends them, `worker` is one of them as the
supervisor sees it, `line` is what the two say to each other, and `serving` is what runs in a worker. With one
process there is none of this: it serves by itself, see `teamchat.server`.
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
