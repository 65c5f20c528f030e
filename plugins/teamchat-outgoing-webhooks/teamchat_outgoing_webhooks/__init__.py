"""Tells other systems what happens in the chat: an HTTP POST for each event, signed.

It offers an event listener for each target in ``[[plugins.outgoing-webhooks.targets]]``; teamchat itself
keeps how far each has come.  ``teamchat try-webhook`` tries one.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from teamchat import Command, EventListener, SettingsError, hookimpl
from teamchat_outgoing_webhooks.options import Options, Target
from teamchat_outgoing_webhooks.trying import TRY

if TYPE_CHECKING:
    from teamchat import Teamchat

_log = logging.getLogger(__name__)

__all__ = ["Options", "Target", "commands", "event_listeners"]


@hookimpl
def commands() -> Sequence[Command]:
    """Offer ``try-webhook``."""
    return [TRY]


@hookimpl
def event_listeners(app: Teamchat) -> Sequence[EventListener]:
    """Offer a listener for each target."""
    targets = app.plugin_options("outgoing-webhooks", Options).targets
    names = [target.name for target in targets]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(f"plugins.outgoing-webhooks.targets: two targets have the name {twice!r}.")
    for target in targets:
        target.check()
        _warn_of_unknown_events(target, app.event_types)
    if not targets:
        return []
    from teamchat_outgoing_webhooks.sender import Sender  # with an HTTP client, loaded where it is needed

    return [Sender(target) for target in targets]


def _warn_of_unknown_events(target: Target, known: Collection[str]) -> None:
    """Log which events a target waits for in vain. It is no error: a capability may be off for a while."""
    for name in target.events:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            _log.warning("target %s: this server has no event of the type %s.%s", target.name, name, meant)
