"""``teamchat push``: try the devices of somebody, and read what their push services say."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import trio

from teamchat import Command, OperatorError
from teamchat.accounts import user_by_email
from teamchat.plugins import Plugins
from teamchat.settings import backend_options, plugin_options
from teamchat_web_push.options import PushOptions, subject

if TYPE_CHECKING:
    from teamchat import Storage
    from teamchat.settings import Settings
    from teamchat_web_push.connection import Answer
    from teamchat_web_push.subscriptions import Device


class NoPushError(OperatorError):
    """There is nobody to send a push to, or no way to."""


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Send a push to each device, and say what became of it; the exit code is 0 if all were taken."""
    from teamchat_web_push.trying import all_taken, explained

    answers = trio.run(_run, settings, arguments.email)
    for name, answer in answers:
        print(f"{name or 'a device without a name'}: {explained(answer)}")  # noqa: T201  # it is its purpose
    return 0 if all_taken([answer for _, answer in answers]) else 1


async def _run(settings: Settings, email: str) -> list[tuple[str, Answer]]:
    from teamchat_web_push.connection import open_services
    from teamchat_web_push.trying import try_device
    from teamchat_web_push.vapid import VapidKey

    options = plugin_options(settings.plugins, "push", PushOptions)
    contact = subject(settings, options)
    if not options.enabled or contact is None:
        raise NoPushError(
            "Web Push is off: auth.appUrl is not the public https address of this server, and there is no "
            "push.contact."
            if options.enabled
            else "Web Push is off: [push] says enabled = false."
        )
    backend = Plugins.load(settings.plugins.disabled).storage(settings.storage.backend)
    async with backend.open(backend_options(settings.storage, backend)) as storage:
        devices = await _devices(storage, email)
        vapid = await VapidKey(storage, contact).get()
        async with open_services(options.allowed_hosts) as services:
            return [
                (
                    name,
                    await try_device(
                        services, vapid, device, app_url=settings.auth.app_url, server="teamchat"
                    ),
                )
                for name, device in devices
            ]


async def _devices(storage: Storage, email: str) -> list[tuple[str, Device]]:
    from teamchat_web_push.subscriptions import DEVICE, Device

    async with storage.read() as tx:
        user = await user_by_email(tx, email)
        if user is None:
            raise NoPushError(f"There is no user with the email {email}.")
        rows = await tx.fetch(
            f"select s.device_name, {DEVICE} from web_push_subscriptions s where s.user_id = $1 "  # noqa: S608
            "order by s.created_at, s.id",
            user.id,
        )
    if not rows:
        raise NoPushError(f"{user.user_name} has turned notices on nowhere.")
    return [(name, Device(*row)) for name, *row in rows]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("test",), help="send a push to all devices of a user")
    parser.add_argument("email", help="the user's email")


PUSH = Command("push", "send a push to somebody's devices, and see what push services say", run, _arguments)
