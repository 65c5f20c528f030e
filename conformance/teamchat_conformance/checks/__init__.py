"""The checks, an area of the interface each, in the order in which they run."""

from __future__ import annotations

from teamchat_conformance.checks import (
    channels,
    configuration,
    conversations,
    credentials,
    dev_mode,
    errors,
    events,
    general,
    hostile,
    images,
    magic_link,
    messages,
    oauth,
    passwords,
    properties,
    reactions,
    sessions,
    settings,
    stream,
    threads,
    users,
    webhooks,
)
from teamchat_conformance.registry import Area

AREAS: tuple[Area, ...] = (
    general.area,
    credentials.area,
    dev_mode.area,
    users.area,
    magic_link.area,
    passwords.area,
    oauth.area,
    sessions.area,
    settings.area,
    channels.area,
    messages.area,
    reactions.area,
    threads.area,
    images.area,
    conversations.area,
    webhooks.area,
    errors.area,
    hostile.area,
    events.area,
    stream.area,
    configuration.area,
    properties.area,
)
