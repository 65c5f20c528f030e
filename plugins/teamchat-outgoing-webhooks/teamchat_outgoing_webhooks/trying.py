"""``teamchat try-webhook``: send a target one event that did not happen, and tell what it answers."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

import trio

from teamchat import Command, SettingsError
from teamchat.settings import plugin_options
from teamchat_outgoing_webhooks.options import Options, Target

if TYPE_CHECKING:
    from teamchat.settings import Settings


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Send it, and say what became of it. The exit code is 0 if it was taken."""
    targets = plugin_options(settings.plugins, "outgoing-webhooks", Options).targets
    found = next((target for target in targets if target.name == arguments.target), None)
    if found is None:
        names = ", ".join(target.name for target in targets) or "none"
        raise SettingsError(f"plugins.outgoing-webhooks.targets: none has that name. There are: {names}.")
    found.check()
    why = trio.run(_try, found)
    print(f"{found.name} took it." if why is None else f"{found.name} did not take it: {why}.")  # noqa: T201
    return 0 if why is None else 1


async def _try(target: Target) -> str | None:
    from teamchat_outgoing_webhooks.sender import Sender

    body = json.dumps({"type": "TRY", "payload": {}}).encode()
    async with aclosing(Sender(target)) as sender:
        return await sender.send(f"try-{time.time_ns()}", body)


TRY = Command(
    "try-webhook",
    "send a target of outgoing-webhooks an event to try it",
    run,
    lambda parser: parser.add_argument("target", metavar="TARGET", help="the target's name"),
)
