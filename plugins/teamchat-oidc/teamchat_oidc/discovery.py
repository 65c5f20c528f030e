"""Keeps the providers found: at the start, daily, and each minute while one can't be reached.

A provider that is down does not hold the server up: whoever signs in otherwise does, and its button comes
when it does.  One that was found once stays in use while it can't be reached again.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from teamchat import OAuthFailed
from teamchat.observability.logs import get_logger
from teamchat_oidc.provider import OpenIdProvider

AGAIN_SECONDS = 24 * 3600
RETRY_SECONDS = 60
FIRST_SECONDS = 2
"""So long the server's start waits for them, so that the first page has their buttons."""

_log = get_logger(__name__)


class Discovery:
    """The service that does so."""

    name = "oidc discovery"

    def __init__(self, providers: Sequence[OpenIdProvider]) -> None:
        self._providers = providers

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as nursery:
            first = [_Keeper(provider) for provider in self._providers]
            for keeper in first:
                nursery.start_soon(keeper.run)
            with trio.move_on_after(FIRST_SECONDS):
                for keeper in first:
                    await keeper.tried.wait()
            task_status.started()


class _Keeper:
    def __init__(self, provider: OpenIdProvider) -> None:
        self._provider = provider
        self._failed: str | None = None
        self.tried = trio.Event()

    async def run(self) -> None:
        while True:
            is_found = await self._find()
            self.tried.set()
            await trio.sleep(AGAIN_SECONDS if is_found else RETRY_SECONDS)

    async def _find(self) -> bool:
        try:
            await self._provider.find()
        except Exception as error:
            # Each minute the same would be said: it is said once, and again when it is something else.
            detail = str(getattr(error, "detail", type(error).__name__))
            if detail != self._failed:
                is_ours = not isinstance(error, OAuthFailed)
                _log.warning(
                    "a provider can't be asked, and is tried again each minute",
                    provider=self._provider.id,
                    detail=detail,
                    exc_info=error if is_ours else None,
                )
            self._failed = detail
            return False
        if self._failed is not None:
            _log.info("a provider was found again", provider=self._provider.id)
        self._failed = None
        return True
