"""Tells other systems what happens in the chat: an HTTP POST for each event, signed.

It offers an event listener for each target in ``[[plugins.outgoing-webhooks.targets]]``; teamchat itself
keeps how far each has come.  ``teamchat try-webhook`` tries one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Command, EventListener, SettingsError, hookimpl
from teamchat_outgoing_webhooks.options import Options, Target
from teamchat_outgoing_webhooks.trying import TRY

if TYPE_CHECKING:
    from teamchat import Teamchat

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
    if not targets:
        return []
    from teamchat_outgoing_webhooks.sender import Sender  # with an HTTP client, loaded where it is needed

    return [Sender(target) for target in targets]
