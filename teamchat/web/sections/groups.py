"""Groups of a few people, and one's own notes."""

from __future__ import annotations

from msgspec import Struct

from teamchat.application import Application
from teamchat.chat.groups import GroupOf
from teamchat.model import Caller, Channel
from teamchat.web.endpoints import Answer, Section
from teamchat.web.sections.channels import OneChannel
from teamchat.web.sections.members import NewMembers

section = Section("groups")


class FoundChannel(Answer, frozen=True, rename="camel"):
    """A channel, and whether it was made by this request."""

    channel: Channel
    is_new: bool


class ConvertedGroup(Struct, frozen=True):
    """What a group is called as a channel: 1 to 80 characters."""

    name: str


async def _check_sees(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.groups.check_sees(caller, channel_id)


@section.endpoint("POST", "/groups", scopes=("manage",), body=GroupOf, answer=FoundChannel)
async def open_group(app: Application, caller: Caller, body: GroupOf, key: str | None) -> FoundChannel:
    """Open the group of the caller and 2 to 8 others; the same people have the same one."""
    return FoundChannel(*await app.chat.groups.open(caller, body, key))


@section.endpoint(
    "POST",
    "/groups/:channelId/members",
    scopes=("manage",),
    body=NewMembers,
    answer=OneChannel,
    first=_check_sees,
)
async def add_to_group(app: Application, caller: Caller, channel_id: str, body: NewMembers) -> OneChannel:
    """Add people to a group, of up to 9 in all; they see what is said from then on."""
    return OneChannel(await app.chat.groups.add(caller, channel_id, body.user_ids))


@section.endpoint(
    "POST",
    "/groups/:channelId/convert",
    scopes=("manage",),
    body=ConvertedGroup,
    answer=OneChannel,
    first=_check_sees,
)
async def convert_group(
    app: Application, caller: Caller, channel_id: str, body: ConvertedGroup
) -> OneChannel:
    """Make a group a private channel, which all in it manage; it never goes back."""
    return OneChannel(await app.chat.groups.convert(caller, channel_id, body.name))


@section.endpoint("PUT", "/me/notes", answer=FoundChannel)
async def open_notes(app: Application, caller: Caller) -> FoundChannel:
    """Open the caller's notes, which nobody else sees."""
    return FoundChannel(*await app.chat.groups.notes(caller))
