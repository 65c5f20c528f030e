"""The endpoints of the specification, one module for each of its sections (interface, part 4)."""

from teamchat.web.sections import (
    administration,
    capabilities,
    channels,
    conversations,
    groups,
    health,
    images,
    members,
    messages,
    reactions,
    server_settings,
    sign_in,
    streams,
    threads,
    users,
    webhooks,
)

SECTIONS = (
    health.section,
    capabilities.section,
    sign_in.section,
    users.section,
    channels.section,
    members.section,
    groups.section,
    messages.section,
    reactions.section,
    images.section,
    threads.section,
    conversations.section,
    streams.section,
    server_settings.section,
    webhooks.section,
    administration.section,
)

__all__ = ["SECTIONS"]
