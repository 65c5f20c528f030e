"""Channels, and who may change what about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from teamchat.application import Application
from teamchat.chat.channel_drafts import ChannelChange, NewChannel, NewPrivateChannel
from teamchat.chat.channels import ChannelWithMembers
from teamchat.chat.privacy import PrivacyChange
from teamchat.errors import BadRequest
from teamchat.model import Caller, Channel
from teamchat.web.endpoints import Answer, Section, Success

section = Section("channels")


class ChannelList(Answer, frozen=True):
    """Channels. `as_of` is the position in the log at which they were so."""

    channels: Sequence[Channel]
    as_of: str


class OneChannel(Answer, frozen=True):
    """A channel."""

    channel: Channel


class MadeChannel(Answer, frozen=True):
    """A channel that was just made."""

    channel: ChannelWithMembers


def _made(channel: Channel) -> MadeChannel:
    return MadeChannel(cast("ChannelWithMembers", channel))


async def _check_create(app: Application, caller: Caller) -> None:
    await app.chat.channels.check_create(caller)


async def _check_create_private(app: Application, caller: Caller) -> None:
    await app.chat.channels.check_create(caller, is_private=True)


async def _check_change(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.channels.check_change(caller, channel_id)


async def _check_privacy(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.privacy.check(caller, channel_id)


@section.endpoint("GET", "/channels", within_places=True, answer=ChannelList, query=("archived", "joined"))
async def list_channels(
    app: Application, caller: Caller, archived: str | None, joined: str | None
) -> ChannelList:
    """List the channels the caller sees."""
    if archived not in (None, "no", "only"):
        raise BadRequest("archived is neither no nor only.")
    if joined not in (None, "true", "false"):
        raise BadRequest("joined is neither true nor false.")
    as_of = await app.storage.position()  # before what is read: nothing is missed after it
    channels = await app.chat.channels.list(caller, archived=archived, joined=joined == "true")
    return ChannelList(channels, str(as_of))


@section.endpoint("GET", "/channels/:channelId", answer=OneChannel)
async def read_channel(app: Application, caller: Caller, channel_id: str) -> OneChannel:
    """Read a channel."""
    return OneChannel(await app.chat.channels.get(caller, channel_id))


@section.endpoint(
    "POST", "/channels", scopes=("manage",), body=NewChannel, answer=MadeChannel, first=_check_create
)
async def create_channel(app: Application, caller: Caller, body: NewChannel, key: str | None) -> MadeChannel:
    """Create a channel (admin, or who chat.publicChannelsBy says)."""
    return _made(await app.chat.channels.create(caller, body, key))


@section.endpoint(
    "POST",
    "/private-channels",
    scopes=("manage",),
    body=NewPrivateChannel,
    answer=MadeChannel,
    first=_check_create_private,
)
async def create_private_channel(
    app: Application, caller: Caller, body: NewPrivateChannel, key: str | None
) -> MadeChannel:
    """Create a private channel (everyone, or who chat.privateChannelsBy says)."""
    return _made(await app.chat.channels.create(caller, body, key))


@section.endpoint(
    "PUT",
    "/channels/:channelId",
    scopes=("manage",),
    body=ChannelChange,
    answer=OneChannel,
    first=_check_change,
)
async def change_channel(
    app: Application, caller: Caller, channel_id: str, body: ChannelChange
) -> OneChannel:
    """Rename a channel, or change its topic, its description or who may do what (managers, admins)."""
    return OneChannel(await app.chat.channels.change(caller, channel_id, body))


@section.endpoint(
    "PUT",
    "/channels/:channelId/privacy",
    scopes=("manage",),
    body=PrivacyChange,
    answer=OneChannel,
    first=_check_privacy,
)
async def change_privacy(
    app: Application, caller: Caller, channel_id: str, body: PrivacyChange
) -> OneChannel:
    """Make a channel private (managers, admins), or public (admins who are in it)."""
    return OneChannel(await app.chat.privacy.change(caller, channel_id, body))


@section.endpoint("POST", "/channels/:channelId/archive", scopes=("manage",), answer=OneChannel)
async def archive_channel(app: Application, caller: Caller, channel_id: str) -> OneChannel:
    """Archive a channel (managers, admins)."""
    return OneChannel(await app.chat.channels.archive(caller, channel_id, is_archived=True))


@section.endpoint("POST", "/channels/:channelId/unarchive", scopes=("manage",), answer=OneChannel)
async def unarchive_channel(app: Application, caller: Caller, channel_id: str) -> OneChannel:
    """Open an archived channel again (managers, admins)."""
    return OneChannel(await app.chat.channels.archive(caller, channel_id, is_archived=False))


@section.endpoint("DELETE", "/channels/:channelId", scopes=("manage",), answer=Success)
async def delete_channel(app: Application, caller: Caller, channel_id: str) -> Success:
    """Delete a channel with its messages and webhooks (admin)."""
    await app.chat.channels.delete(caller, channel_id)
    return Success()
