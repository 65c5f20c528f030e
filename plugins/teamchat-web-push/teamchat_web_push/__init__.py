"""Pushes to phones and desktops, encrypted, from this server straight to their push services.

The capability `web-push`, version 1 (extension J).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Command, Parts, Service, SettingsError, hookimpl
from teamchat_web_push.command import PUSH
from teamchat_web_push.options import PushOptions, is_possible, subject
from teamchat_web_push.tables import CHECKS, MIGRATIONS

# What sends and encrypts is loaded where it is on: a server without a public address need not have it.
if TYPE_CHECKING:
    from teamchat import Notices, Teamchat
    from teamchat_web_push.vapid import VapidKey

NAME = "web-push"


def parts(app: Teamchat, options: PushOptions) -> Parts:
    """Return what the capability brings to one server."""
    from teamchat_web_push.endpoints import section_for
    from teamchat_web_push.queue import Queue
    from teamchat_web_push.subscriptions import MOST, Ending, Subscriptions

    notices = _notices(app)
    subscriptions = Subscriptions(app, options.allowed_hosts)
    key = _key(app, options)
    return Parts(
        # A sign-in beyond so many sessions ends the oldest, and its device's pushes: clients say so (J-2).
        limits={"perUser": MOST, "sessions": app.settings.auth.max_active_sessions},
        routes=[section_for(app, notices, subscriptions, key, options.allowed_hosts)],
        changes=Ending(),
        jobs=[subscriptions.tidy, Queue(app.storage, notices).tidy],
    )


WEB_PUSH = Capability(
    name=NAME,
    version=1,
    needs=["read-state", "threads", "notification-levels"],
    options=PushOptions,
    tables=MIGRATIONS,
    checks=CHECKS,
    client="client",
    is_possible=is_possible,
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [WEB_PUSH]


@hookimpl
def services(app: Teamchat) -> Sequence[Service]:
    """Offer the service that sends, where the capability is on."""
    if NAME not in app.announced().capabilities:
        return []
    from teamchat_web_push.service import Pushing

    options = app.plugin_options("push", PushOptions)
    return [Pushing(app, _notices(app), options, _key(app, options))]


@hookimpl
def commands() -> Sequence[Command]:
    """Offer ``teamchat push``."""
    return [PUSH]


def _notices(app: Teamchat) -> Notices:
    notices = app.notices
    if notices is None:
        raise SettingsError("web-push needs notification-levels. Turn it on, or web-push off.")
    return notices


def _key(app: Teamchat, options: PushOptions) -> VapidKey:
    from teamchat_web_push.vapid import VapidKey

    return VapidKey(app.storage, subject(app.settings, options) or app.settings.auth.app_url)
