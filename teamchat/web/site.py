"""What a server serves its requests with; `teamchat.web.app.App` is one."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from teamchat.application import Application
    from teamchat.web.budget import Hold
    from teamchat.web.guard import Guard
    from teamchat.web.headers import Headers
    from teamchat.web.readiness import Readiness
    from teamchat.web.sending import AnswerSpace
    from teamchat.web.turns import GoingFirst


class Site(Protocol):
    """The HTTP side of an `Application`, as endpoints see it."""

    core: Application
    guard: Guard
    headers: Headers
    readiness: Readiness
    answer_space: AnswerSpace
    going_first: GoingFirst

    def __call__(self, scope: Any, receive: Any, send: Any) -> Coroutine[Any, Any, None]:
        """Serve one ASGI scope."""

    def bodies(self, scope: Any) -> Hold:
        """Return what holds the body of a request."""

    def upload_turn(self) -> AbstractAsyncContextManager[None]:
        """Wait for one of the few turns to decode and store an upload that has arrived.

        It takes several times its size. Raises `Unavailable` after 30 s.
        """

    def turn_behind_others(self) -> AbstractAsyncContextManager[None]:
        """Wait for the turn of what all else passes by (extension I-5). Raises `Unavailable` after 10 s."""

    def endpoint_in_logs(self, scope: Any) -> dict[str, str]:
        """Return the fields by which the log names what a request was for, and the plugin that brought it."""
