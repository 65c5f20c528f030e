"""Who is in a channel."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from teamchat.application import Application
from teamchat.chat.members import AddedMembers, MemberPage
from teamchat.errors import BadRequest
from teamchat.model import Caller, Member
from teamchat.web.endpoints import Answer, Section, Success
from teamchat.web.reader import read_limit
from teamchat.web.sections.channels import OneChannel

section = Section("members")


class NewMembers(Struct, frozen=True, rename="camel"):
    """Users to add: 1 to 200."""

    user_ids: Sequence[str]


class MemberRole(Struct, frozen=True):
    """What a member is: ``manager`` or ``member``."""

    role: str


class OneMember(Answer, frozen=True):
    """A member."""

    member: Member


async def _check_add(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.members.check_add(caller, channel_id)


async def _check_set_role(app: Application, caller: Caller, channel_id: str, user_id: str) -> None:
    await app.chat.members.check_set_role(caller, channel_id, user_id)


async def _check_sees(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.channels.check_sees(caller, channel_id)


@section.endpoint("POST", "/channels/:channelId/join", scopes=("manage",), answer=OneChannel)
async def join_channel(app: Application, caller: Caller, channel_id: str) -> OneChannel:
    """Join a public channel."""
    return OneChannel(await app.chat.members.join(caller, channel_id))


@section.endpoint("POST", "/channels/:channelId/leave", scopes=("manage",), answer=Success)
async def leave_channel(app: Application, caller: Caller, channel_id: str) -> Success:
    """Leave a channel."""
    await app.chat.members.leave(caller, channel_id)
    return Success()


@section.endpoint(
    "GET",
    "/channels/:channelId/members",
    answer=MemberPage,
    first=_check_sees,
    query=("limit", "cursor"),
)
async def list_members(
    app: Application, caller: Caller, channel_id: str, limit: str | None, cursor: str | None
) -> MemberPage:
    """List the members of a channel."""
    try:
        most = read_limit(limit)
    except BadRequest:
        await _check_sees(app, caller, channel_id)  # first of all it is told that there is no such channel
        raise
    return await app.chat.members.page(caller, channel_id, most, cursor)


@section.endpoint(
    "POST",
    "/channels/:channelId/members",
    scopes=("manage",),
    body=NewMembers,
    answer=AddedMembers,
    first=_check_add,
)
async def add_members(app: Application, caller: Caller, channel_id: str, body: NewMembers) -> AddedMembers:
    """Add users to a channel: as a member, or where invitePolicy says so a manager."""
    return await app.chat.members.add(caller, channel_id, body.user_ids)


@section.endpoint(
    "PUT",
    "/channels/:channelId/members/:userId",
    scopes=("manage",),
    body=MemberRole,
    answer=OneMember,
    first=_check_set_role,
)
async def change_member(
    app: Application, caller: Caller, channel_id: str, user_id: str, body: MemberRole
) -> OneMember:
    """Make a member a manager, or one no longer (managers, admins)."""
    return OneMember(await app.chat.members.set_role(caller, channel_id, user_id, body.role))


@section.endpoint("DELETE", "/channels/:channelId/members/:userId", scopes=("manage",), answer=Success)
async def remove_member(app: Application, caller: Caller, channel_id: str, user_id: str) -> Success:
    """Remove a member (managers, admins)."""
    await app.chat.members.remove(caller, channel_id, user_id)
    return Success()
