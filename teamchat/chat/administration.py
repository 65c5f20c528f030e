"""What admins see of channels that they are not in, and what they can do there (B-12); never what is said."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from teamchat.accounts.audit import note
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows, permissions, sight
from teamchat.chat.deletion import delete
from teamchat.chat.joining import let_in, members_among
from teamchat.chat.leaving import set_role
from teamchat.chat.permissions import MANAGER
from teamchat.chat.sight import ROOM, Room
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Channel, text
from teamchat.model.ids import could_be_id, is_conversation_id

MAX_REASON = 500

_PAGE = f"""select r.id, r.name, r.is_private, r.archived_at, r.created_at, r.created_by,
{channel_rows.MEMBER_COUNT}, (select m.created_at from messages m
  where m.room_id = r.id and m.parent_id is null order by m.id desc limit 1)
from rooms r where r.kind = 'channel' and r.id > $1 order by r.id limit $2"""  # noqa: S608
_ROOM = f"""select {ROOM}, mine.role, '' from rooms r
left join memberships mine on mine.room_id = r.id and mine.user_id = $2
where r.id = $1 and r.kind = 'channel'"""  # noqa: S608


class AdminChannel(Struct, frozen=True, rename="camel"):
    """A channel as admins see it who are not in it. Times are in epoch milliseconds."""

    id: str
    name: str
    is_private: bool
    is_archived: bool
    created_at: int
    created_by: str
    member_count: int
    last_message_at: int | None


class AdminChannelPage(Struct, frozen=True, rename="camel"):
    """Some channels, oldest first, and the cursor to those that follow."""

    channels: Sequence[AdminChannel]
    next: str | None


class Administration:
    """All channels of the server, for admins."""

    def __init__(self, storage: Storage, capabilities: Capabilities, *, may_enter: bool) -> None:
        self._storage = storage
        self._capabilities = capabilities
        self._may_enter = may_enter

    async def check(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller is an admin."""
        if not caller.user.is_admin:
            raise Forbidden("Only an admin may do this.")

    def may_enter(self, caller: Caller) -> bool:
        """Tell whether a user may enter channels that they are not in (``chat.adminsMayEnter``)."""
        return self._may_enter and caller.user.is_admin

    async def page(self, caller: Caller, limit: int, cursor: str | None) -> AdminChannelPage:
        """Return up to `limit` channels, private ones among them."""
        await self.check(caller)
        if cursor is not None and (not could_be_id(cursor) or is_conversation_id(cursor)):
            raise BadRequest("cursor is none that was given out.")
        async with self._storage.read() as tx:
            rows = await tx.fetch(_PAGE, cursor or "", limit + 1)
        found = [
            AdminChannel(id_, name, bool(is_private), archived_at is not None, *rest)
            for id_, name, is_private, archived_at, *rest in rows[:limit]
        ]
        return AdminChannelPage(found, found[-1].id if len(rows) > limit else None)

    async def check_enter(self, caller: Caller, channel_id: str) -> None:
        """Raise what `enter` does to who may not enter a channel, and `NotFound` for none."""
        await self._check_may_enter(caller)
        async with self._storage.read() as tx:
            await _entered(tx, caller, channel_id)

    async def enter(self, caller: Caller, channel_id: str, reason: str) -> Channel:
        """Make the caller a manager of a channel, also of an archived one or one without members.

        All members are told, and the audit log has an entry with the reason.  Raises `Forbidden` where
        the configuration does not let admins enter.
        """
        await self._check_may_enter(caller)
        async with self._storage.write() as tx:
            room = await _entered(tx, caller, channel_id)
            text.note("reason", reason, most=MAX_REASON, may_be_blank=False)
            user_id = caller.user.id
            if not await members_among(tx, room, [user_id]):
                await let_in(
                    tx, self._capabilities, room, [user_id], by=user_id, role=MANAGER, reason="admin"
                )
            elif room.role != MANAGER:
                await set_role(tx, room, user_id, MANAGER)
            await note(tx, "channel.enter", "channel", room.id, by=user_id, reason=reason)
            return await channel_rows.channel(tx, room.id, user_id)

    async def delete(self, caller: Caller, channel_id: str) -> None:
        """Delete a channel that the caller need not see."""
        await self.check(caller)
        async with self._storage.write() as tx:
            room = await _room(tx, caller, channel_id)
            await delete(tx, self._capabilities, room, by=caller.user.id)

    async def _check_may_enter(self, caller: Caller) -> None:
        await self.check(caller)
        if not self._may_enter:
            raise Forbidden("Admins may not enter channels here (chat.adminsMayEnter).")


async def _entered(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    """Return the channel that an admin enters.

    Raises `Forbidden` for a group or notes that the caller is in; to others it is not there (C-8).
    """
    with suppress(NotFound):
        permissions.check_is_channel(await sight.channel(tx, caller, channel_id))
    return await _room(tx, caller, channel_id)


async def _room(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    rows = could_be_id(channel_id) and await tx.fetch(_ROOM, channel_id, caller.user.id)
    if not rows:
        raise NotFound("No such channel.")
    return Room.of(rows[0])
