"""Channels."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat.application import Application
from teamchat.model import Caller, Channel
from teamchat.web.endpoints import Answer, Section, Success

section = Section("channels")


class ChannelName(Struct, frozen=True):
    """The name of a channel: 1 to 80 characters."""

    name: str


class ChannelList(Answer, frozen=True):
    """All channels."""

    channels: Sequence[Channel]


class OneChannel(Answer, frozen=True):
    """A channel."""

    channel: Channel


class ChangedChannel(Answer, frozen=True):
    """What a change of a channel answers of it."""

    id: str
    name: str
    updated_at: int | UnsetType = UNSET


class RenamedChannel(Answer, frozen=True):
    """A channel after a change."""

    channel: ChangedChannel


async def _check_create(app: Application, caller: Caller) -> None:
    await app.chat.channels.check_create(caller)


async def _check_manage(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.channels.check_manage(caller, channel_id)


@section.endpoint("GET", "/channels", answer=ChannelList)
async def list_channels(app: Application, caller: Caller) -> ChannelList:
    """List the channels."""
    return ChannelList(await app.chat.channels.list(caller))


@section.endpoint("POST", "/channels", body=ChannelName, answer=OneChannel, first=_check_create)
async def create_channel(app: Application, caller: Caller, body: ChannelName) -> OneChannel:
    """Create a channel (admin)."""
    return OneChannel(await app.chat.channels.create(caller, body.name))


@section.endpoint("PUT", "/channels/:channelId", body=ChannelName, answer=RenamedChannel, first=_check_manage)
async def rename_channel(
    app: Application, caller: Caller, channel_id: str, body: ChannelName
) -> RenamedChannel:
    """Rename a channel (admin)."""
    channel = await app.chat.channels.rename(caller, channel_id, body.name)
    return RenamedChannel(ChangedChannel(channel.id, channel.name, channel.updated_at))


@section.endpoint("DELETE", "/channels/:channelId", answer=Success)
async def delete_channel(app: Application, caller: Caller, channel_id: str) -> Success:
    """Delete a channel with its messages and webhooks (admin)."""
    await app.chat.channels.delete(caller, channel_id)
    return Success()
