"""What admins see of channels that they are not in, and what they can do there."""

from __future__ import annotations

from msgspec import Struct

from teamchat.accounts.audit import AuditPage, AuditQuery
from teamchat.application import Application
from teamchat.chat.administration import AdminChannelPage
from teamchat.model import Caller
from teamchat.web.endpoints import Section, Success
from teamchat.web.reader import read_limit
from teamchat.web.sections.channels import OneChannel

section = Section("administration")


class Reason(Struct, frozen=True):
    """Why an admin enters: 1 to 500 characters."""

    reason: str


async def _check(app: Application, caller: Caller) -> None:
    await app.chat.administration.check(caller)


async def _check_enter(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.administration.check_enter(caller, channel_id)


async def _check_audit(app: Application, caller: Caller) -> None:
    await app.audit.check(caller)


@section.endpoint(
    "GET",
    "/admin/audit",
    answer=AuditPage,
    first=_check_audit,
    query=("limit", "before", "actorId", "action", "targetId"),
)
async def read_audit(
    app: Application,
    caller: Caller,
    limit: str | None,
    before: str | None,
    actor_id: str | None,
    action: str | None,
    target_id: str | None,
) -> AuditPage:
    """Read who did what, newest first (admin). An `action` without a dot means all that begin with it."""
    query = AuditQuery(actor_id, action, target_id)
    return await app.audit.page(caller, read_limit(limit), before, query)


@section.endpoint("GET", "/admin/channels", answer=AdminChannelPage, first=_check, query=("limit", "cursor"))
async def list_all_channels(
    app: Application, caller: Caller, limit: str | None, cursor: str | None
) -> AdminChannelPage:
    """List all channels, private ones among them, without anything that was said (admin)."""
    return await app.chat.administration.page(caller, read_limit(limit), cursor)


@section.endpoint(
    "POST", "/admin/channels/:channelId/enter", body=Reason, answer=OneChannel, first=_check_enter
)
async def enter_channel(app: Application, caller: Caller, channel_id: str, body: Reason) -> OneChannel:
    """Become a manager of a channel; all its members are notified (admin)."""
    return OneChannel(await app.chat.administration.enter(caller, channel_id, body.reason))


@section.endpoint("DELETE", "/admin/channels/:channelId", answer=Success)
async def delete_any_channel(app: Application, caller: Caller, channel_id: str) -> Success:
    """Delete a channel that the caller need not be in (admin)."""
    await app.chat.administration.delete(caller, channel_id)
    return Success()
