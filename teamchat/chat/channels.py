"""Channels: creating, changing and archiving them (decisions D-23, D-24; extensions B-1 to B-6).

No two public channels have the same name, ignoring case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from teamchat import events
from teamchat.accounts import audit
from teamchat.accounts.idempotency import CHAT, KeyedRequest, asking, made_before, note
from teamchat.capabilities import Capabilities
from teamchat.chat import channel_rows, membership, permissions, sight
from teamchat.chat.channel_drafts import ChannelChange, NewChannel, NewPrivateChannel, accepted, named
from teamchat.chat.deletion import delete
from teamchat.chat.joining import ROWS, check_known, member_of, note_members
from teamchat.chat.permissions import MANAGER
from teamchat.chat.rooms_table import check_name_is_free
from teamchat.chat.sight import Room
from teamchat.errors import BadRequest, Forbidden
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Channel, Member, now_ms, text
from teamchat.model.ids import new_id
from teamchat.settings import ChatSettings

FIRST_CHANNEL = "General"
# The row of server_settings that says the first start is over, so that a deleted General stays deleted.
_FIRST_START_OVER = "firstChannelMade"


class ChannelWithMembers(Channel, frozen=True):
    """A private channel that was just made, with its members."""

    members: Sequence[Member] | UnsetType = UNSET


class Channels:
    """The channels of the server."""

    def __init__(self, storage: Storage, capabilities: Capabilities, settings: ChatSettings) -> None:
        self._storage = storage
        self._capabilities = capabilities
        self._settings = settings

    async def get(self, caller: Caller, channel_id: str) -> Channel:
        """Return a channel the caller sees."""
        async with self._storage.read() as tx:
            await sight.channel(tx, caller, channel_id)
            return await channel_rows.channel(tx, channel_id, caller.user.id)

    async def check_sees(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel that the caller sees."""
        async with self._storage.read() as tx:
            await sight.channel(tx, caller, channel_id)

    def may_create(self, caller: Caller, *, is_private: bool) -> bool:
        """Tell whether a user may make channels (``chat.publicChannelsBy``, ``chat.privateChannelsBy``)."""
        by = self._settings.private_channels_by if is_private else self._settings.public_channels_by
        return by == "everyone" or caller.user.is_admin

    async def check_create(self, caller: Caller, *, is_private: bool = False) -> None:
        """Raise `Forbidden` unless the caller may make channels."""
        if not self.may_create(caller, is_private=is_private):
            raise Forbidden("Only an admin may make channels.")

    async def check_manage(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel, then `Forbidden` unless the caller may change it."""
        async with self._storage.read() as tx:
            permissions.check_manages(caller, await sight.channel(tx, caller, channel_id))

    async def check_change(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel, then `Forbidden` unless the caller may change what it says."""
        async with self._storage.read() as tx:
            permissions.check_may_describe(caller, await sight.channel(tx, caller, channel_id))

    async def create(
        self, caller: Caller, draft: NewChannel | NewPrivateChannel | str, key: str | None = None
    ) -> Channel:
        """Make a channel, of which the caller is manager; `key` is the Idempotency-Key (decision D-07b).

        A private one is returned with its members.  Raises `BadRequest` if it is public and the name is
        taken, `NotFound` if one of `members` is no user.
        """
        if isinstance(draft, str):
            draft = NewChannel(draft)
        is_private = isinstance(draft, NewPrivateChannel) or draft.is_private
        await self.check_create(caller, is_private=is_private)
        wanted = dict(accepted(draft), name=text.name("name", draft.name))
        others = [one for one in named("members", draft.members) if one != caller.user.id]
        if others and not is_private:
            raise BadRequest("members are named for a private channel alone.")
        is_default = self._is_default(draft, is_private=is_private)
        what = "private channel" if is_private else "channel"
        request = asking(KeyedRequest(caller.user.id, CHAT, key), [what, draft])
        async with self._storage.write() as tx:
            if (made := await made_before(tx, request)) is not None:
                room_id = (await sight.channel(tx, caller, made.id)).id
            else:
                await check_known(tx, others)
                room_id = await self._make(tx, caller, wanted, others, request, is_default, is_private)
            return await _made(tx, room_id, caller.user.id, is_private=is_private)

    async def _make(
        self,
        tx: Transaction,
        caller: Caller,
        wanted: dict[str, Any],
        others: list[str],
        request: KeyedRequest,
        is_default: bool,
        is_private: bool,
    ) -> str:
        room_id = await insert(tx, wanted, caller.user.id, is_private=is_private)
        await note(tx, request, room_id)
        audience = await membership.change(
            tx, room_id, joined=[caller.user.id], role=MANAGER, is_default=is_default
        )
        if others:
            audience = await membership.change(tx, room_id, joined=others, added_by=caller.user.id)
        event = events.NewChannel.about(await channel_rows.channel(tx, room_id))
        await tx.append(event.to(audience))
        await self._capabilities.in_transaction.room_made(tx, await sight.made(tx, room_id))
        await audit.note(
            *(tx, "channel.create", "channel", room_id),
            by=caller.user.id,
            name=wanted["name"],
            isPrivate=is_private,
        )
        await note_members(tx, "member.add", room_id, others, by=caller.user.id)
        return room_id

    def _is_default(self, draft: NewChannel | NewPrivateChannel, *, is_private: bool) -> bool:
        asked = UNSET if isinstance(draft, NewPrivateChannel) else draft.is_default
        if not is_private:
            return self._settings.new_channels_are_default if asked is UNSET else bool(asked)
        if asked is True:
            raise BadRequest("A private channel is nobody's by default.")
        return False

    async def change(self, caller: Caller, channel_id: str, change: ChannelChange | str) -> Channel:
        """Change what a channel is called and who may do what there. Raises `BadRequest` for a taken name."""
        if isinstance(change, str):
            change = ChannelChange(change)
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            permissions.check_may_describe(caller, room)
            if room.kind != "channel":
                _check_is_topic(change)
            if all(value is UNSET for value in asdict(change).values()):
                raise BadRequest("name is missing.")
            if change.is_private not in (UNSET, room.is_private):
                raise BadRequest("isPrivate is changed by /channels/:channelId/privacy.")
            columns = accepted(change) | await _renamed(tx, room, change)
            if change.is_default not in (UNSET, room.is_default):
                await self._set_default(tx, caller, room, is_default=bool(change.is_default))
            await _update(tx, room.id, columns | {"updated_at": now_ms()})
            if room.kind == "channel":
                changed = sorted(name for name, value in asdict(change).items() if value is not UNSET)
                await audit.note(tx, "channel.update", "channel", room.id, by=caller.user.id, fields=changed)
            # Who was a member by default is none any more, and is told here alone.
            ends_default = room.is_default and change.is_default is False
            return await read_again(tx, caller, room.id, all_scopes=ends_default)

    async def _set_default(self, tx: Transaction, caller: Caller, room: Room, *, is_default: bool) -> None:
        if not caller.user.is_admin:
            raise Forbidden("Only an admin may change isDefault.")
        if room.is_private:
            raise BadRequest("A private channel is nobody's by default.")
        await membership.change(tx, room.id, is_default=is_default)
        await self._capabilities.in_transaction.room_changed(tx, room)

    async def archive(self, caller: Caller, channel_id: str, *, is_archived: bool) -> Channel:
        """Close a channel to everything but reading, or open it again; one that is so stays so (B-6)."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            permissions.check_manages(caller, room)
            if room.is_archived == is_archived:
                return await channel_rows.channel(tx, room.id, caller.user.id)
            await _update(tx, room.id, {"archived_at": now_ms() if is_archived else None})
            await self._capabilities.in_transaction.room_changed(tx, room)
            did = "channel.archive" if is_archived else "channel.unarchive"
            await audit.note(tx, did, "channel", room.id, by=caller.user.id)
            return await read_again(tx, caller, room.id)

    async def delete(self, caller: Caller, channel_id: str) -> None:
        """Delete a channel and all that is in it. Admins who see it may."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            permissions.check_is_channel(room)
            if not caller.user.is_admin:
                raise Forbidden("Only an admin may delete a channel.")
            await delete(tx, self._capabilities, room, by=caller.user.id)

    async def ensure_first(self) -> None:
        """Make the channel `General`, made by the first admin, if the server starts for the first time."""
        async with self._storage.write() as tx:
            first_start = await tx.fetch(
                "insert into server_settings (name, value) values ($1, $2)"
                " on conflict do nothing returning name",
                _FIRST_START_OVER,
                "true",
            )
            if first_start and not await tx.fetch("select 1 from rooms where kind = 'channel' limit 1"):
                maker = await _first_admin(tx)
                room_id = await insert(tx, {"name": FIRST_CHANNEL}, maker, is_private=False)
                joined = [maker] if maker else []
                audience = await membership.change(tx, room_id, joined=joined, role=MANAGER, is_default=True)
                event = events.NewChannel.about(await channel_rows.channel(tx, room_id))
                await tx.append(event.to(audience))
                await self._capabilities.in_transaction.room_made(tx, await sight.made(tx, room_id))

    # Last, for in a class the name hides the type of lists from what follows it.
    async def list(
        self, caller: Caller, *, archived: str | None = None, joined: bool = False
    ) -> list[Channel]:
        """Return the channels the caller sees, oldest first: all, or those they are in.

        `archived` is ``no`` or ``only``, or None for both.
        """
        async with self._storage.read() as tx:
            found = await channel_rows.channels(tx, caller.user.id, archived=archived, joined=joined)
        return [one for one in found if caller.reaches(one.id)]


async def insert(
    tx: Transaction, columns: dict[str, Any], created_by: str, *, is_private: bool, kind: str = "channel"
) -> str:
    """Make the row of a channel, and return its id. Raises `BadRequest` for a taken name of a public one."""
    if not is_private:
        await check_name_is_free(tx, columns["name"])
    row = columns | {
        "id": new_id(),
        "kind": kind,
        "name_key": None if is_private else text.fold(columns["name"]),
        "is_private": int(is_private),
        "created_at": now_ms(),
        "created_by": created_by,
    }
    marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    await tx.fetch(f"insert into rooms ({', '.join(row)}) values ({marks})", *row.values())  # noqa: S608
    return str(row["id"])


async def read_again(
    tx: Transaction, caller: Caller, channel_id: str, *, all_scopes: bool = False
) -> Channel:
    """Tell who sees a channel what it is now, and return it as the caller sees it."""
    [(kind, epoch, is_private)] = await tx.fetch(
        "select kind, epoch, is_private from rooms where id = $1", channel_id
    )
    channel = await channel_rows.channel(tx, channel_id, caller.user.id)
    audience = events.InRoom(channel_id, epoch, bool(is_private), kind=kind, all_scopes=all_scopes)
    await tx.append(events.UpdateChannel.about(channel).to(audience))
    return channel


def _check_is_topic(change: ChannelChange) -> None:
    """Raise `BadRequest` unless the topic alone is to be changed: all that a group and notes have (C-2)."""
    for name, value in asdict(change).items():
        if name != "topic" and value is not UNSET:
            raise BadRequest("Of a group or of notes, the topic alone can be changed.")


async def _renamed(tx: Transaction, room: Room, change: ChannelChange) -> dict[str, Any]:
    if change.name is UNSET:
        return {}
    [(present,)] = await tx.fetch("select name from rooms where id = $1", room.id)
    name = text.name("name", change.name, present=present)
    if room.is_private:
        return {"name": name}
    await check_name_is_free(tx, name, but=room.id)
    return {"name": name, "name_key": text.fold(name)}


async def _update(tx: Transaction, room_id: str, columns: dict[str, Any]) -> None:
    assigned = ", ".join(f"{column} = ${number}" for number, column in enumerate(columns, start=2))
    await tx.fetch(f"update rooms set {assigned} where id = $1", room_id, *columns.values())  # noqa: S608


async def _made(tx: Transaction, room_id: str, caller_id: str, *, is_private: bool) -> Channel:
    channel = await channel_rows.channel(tx, room_id, caller_id)
    if not is_private:
        return channel
    rows = await tx.fetch(ROWS + "u.removed_at is null order by u.id", room_id)
    return ChannelWithMembers(**asdict(channel), members=[member_of(row) for row in rows])


async def _first_admin(tx: Transaction) -> str:
    rows = await tx.fetch(
        "select id from users where is_admin = 1 and removed_at is null order by id limit 1"
    )
    return rows[0][0] if rows else ""
