"""Whether this server should be sent requests: it is not shutting down, and its storage answers.

Whoever asks gets an answer within little more than `DEADLINE_SECONDS`. However many ask, the storage is asked
by one of them at a time, and at most once in `AGAIN_SECONDS`, so that an open endpoint can't be used to load
a database. A failure is not believed for longer than a success.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import trio

from teamchat.errors import Unavailable
from teamchat.observability.logs import get_logger

if TYPE_CHECKING:
    from teamchat.application import Application

DEADLINE_SECONDS = 2.0
AGAIN_SECONDS = 1.0

_log = get_logger(__name__)


class Readiness:
    """What ``/ready`` asks."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._turn = trio.Lock()
        self._asked = -inf
        self._answers = False

    async def check(self) -> None:
        """Raise `Unavailable` unless the server is ready."""
        if not self._app.hub.is_open:
            raise Unavailable("The server is starting or shutting down.")
        async with self._turn:
            if trio.current_time() - self._asked >= AGAIN_SECONDS:
                was, self._answers = self._answers, await self._storage_answers()
                self._asked = trio.current_time()
                if was and not self._answers:
                    _log.warning("the storage does not answer; the server says that it is not ready")
        if not self._answers:
            raise Unavailable("The storage does not answer.")

    async def _storage_answers(self) -> bool:
        try:
            with trio.move_on_after(DEADLINE_SECONDS):
                async with self._app.storage.read() as tx:
                    await tx.fetch("select 1")
                return True
        except Exception as error:  # Whatever it is: a server with such a storage should get no requests.
            _log.debug("the storage failed when it was asked", exc_info=error)
        return False
