"""The server as one capability sees it: it can send only what it has declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from teamchat.capabilities.declared import Declared, DeclaringStorage
from teamchat.events import InRoom, Signal

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


class _Facade:
    """The whole server, except that what the capability sends is checked against its declarations."""

    def __init__(self, app: Teamchat, declared: Declared) -> None:
        self._app = app
        self._declared = declared
        self.storage = DeclaringStorage(app.storage, declared)

    def signal(self, signal: Signal, audience: InRoom | Sequence[str] | None) -> None:
        self._declared.check_signal(signal)
        self._app.signal(signal, audience)

    async def signal_about(self, signals: Mapping[str, Signal]) -> None:
        for signal in signals.values():
            self._declared.check_signal(signal)
        await self._app.signal_about(signals)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


def facade(app: Teamchat, declared: Declared) -> Teamchat:
    """Return the server as a capability with these declarations sees it."""
    return cast("Teamchat", _Facade(app, declared))
