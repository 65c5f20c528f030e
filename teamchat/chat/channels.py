"""Channels: everyone sees them, admins make, rename and delete them (decisions D-23, D-24).

What must stay true: no two channels have the same name without regard to case.  A deleted channel takes its
messages, threads, reactions, images and webhooks with it in one transaction; the one event DELETE_CHANNEL
tells of all of that.
"""

from __future__ import annotations

from msgspec import UNSET

from teamchat import events, text
from teamchat.capabilities import Capabilities
from teamchat.chat import sight
from teamchat.chat.images_table import forget_images_in
from teamchat.errors import BadRequest, Forbidden
from teamchat.events import InRoom
from teamchat.ids import new_id
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, Channel, now_ms
from teamchat.storage.log import blank

FIRST_CHANNEL = "General"
# The row of server_settings that says the first start is over, so that a deleted General stays deleted.
_FIRST_START_OVER = "firstChannelMade"

_COLUMNS = "id, name, created_at, updated_at, created_by"
_LIST = f"select {_COLUMNS} from rooms r where kind = 'channel' and {sight.seen_by('$1')} order by id"  # noqa: S608
_TOP_LEVEL = "select id from messages where room_id = $1 and parent_id is null"
_REPLIES = f"select id from messages where parent_id in ({_TOP_LEVEL})"  # noqa: S608
_EMPTY_CHANNEL = (
    f"delete from reactions where message_id in ({_REPLIES})",  # noqa: S608
    f"delete from reactions where message_id in ({_TOP_LEVEL})",  # noqa: S608
    f"delete from threads where parent_id in ({_TOP_LEVEL})",  # noqa: S608
    f"delete from messages where parent_id in ({_TOP_LEVEL})",  # noqa: S608
    "delete from messages where room_id = $1 and parent_id is null",
    "delete from webhooks where channel_id = $1",
    "delete from rooms where id = $1",
)


class Channels:
    """The channels of the server."""

    def __init__(self, storage: Storage, capabilities: Capabilities) -> None:
        self._storage = storage
        self._capabilities = capabilities

    async def list(self, caller: Caller) -> list[Channel]:
        """Return all channels the caller sees, oldest first."""
        async with self._storage.read() as tx:
            rows = await tx.fetch(_LIST, caller.user.id)
        return [_channel(row) for row in rows]

    async def check_create(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller may make channels."""
        _check_admin(caller)

    async def check_manage(self, caller: Caller, channel_id: str) -> None:
        """Raise `NotFound` for no channel, then `Forbidden` unless the caller may change it."""
        async with self._storage.read() as tx:
            await sight.channel(tx, caller, channel_id)
        _check_admin(caller)

    async def create(self, caller: Caller, name: str) -> Channel:
        """Make a channel. Raises `BadRequest` if the name is taken."""
        _check_admin(caller)
        accepted = text.name("name", name)
        async with self._storage.write() as tx:
            return await _create(tx, accepted, caller.user.id)

    async def rename(self, caller: Caller, channel_id: str, name: str) -> Channel:
        """Give a channel another name. Raises `BadRequest` if another channel has it."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            _check_admin(caller)
            [(present,)] = await tx.fetch("select name from rooms where id = $1", channel_id)
            accepted = text.name("name", name, present=present)
            await _check_free(tx, accepted, but=channel_id)
            rows = await tx.fetch(
                f"update rooms set name = $2, name_key = $3, updated_at = $4 where id = $1"  # noqa: S608
                f" returning {_COLUMNS}",
                channel_id,
                accepted,
                text.fold(accepted),
                now_ms(),
            )
            channel = _channel(rows[0])
            event = events.UpdateChannel(
                channel.id, channel.name, created_by=channel.created_by, updated_at=channel.updated_at
            )
            await tx.append(event.to(room.audience))
        return channel

    async def delete(self, caller: Caller, channel_id: str) -> None:
        """Delete a channel and all that is in it."""
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            _check_admin(caller)
            rows = await tx.fetch(f"select {_COLUMNS} from rooms where id = $1", channel_id)  # noqa: S608
            channel = _channel(rows[0])
            await self._capabilities.in_transaction.room_going(tx, room)
            await forget_images_in(tx, channel_id)
            for statement in _EMPTY_CHANNEL:
                await tx.fetch(statement, channel_id)
            await blank(tx, channel_id)
            gone = events.DeleteChannel(channel.id, channel.name, created_by=channel.created_by)
            await tx.append(gone.to(room.audience))

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
                await _create(tx, FIRST_CHANNEL, await _first_admin(tx))


async def _create(tx: Transaction, name: str, created_by: str) -> Channel:
    await _check_free(tx, name)
    rows = await tx.fetch(
        "insert into rooms (id, kind, name, name_key, created_at, created_by)"  # noqa: S608
        f" values ($1, 'channel', $2, $3, $4, $5) returning {_COLUMNS}",
        new_id(),
        name,
        text.fold(name),
        now_ms(),
        created_by,
    )
    channel = _channel(rows[0])
    event = events.NewChannel(channel.id, channel.name, channel.created_at, created_by=channel.created_by)
    await tx.append(event.to(InRoom(channel.id, 0, is_private=False)))
    return channel


async def _check_free(tx: Transaction, name: str, *, but: str = "") -> None:
    key = text.fold(name)
    if await tx.fetch("select 1 from rooms where name_key = $1 and id <> $2", key, but):
        raise BadRequest("A channel with this name exists.")


async def _first_admin(tx: Transaction) -> str:
    rows = await tx.fetch(
        "select id from users where is_admin = 1 and removed_at is null order by id limit 1"
    )
    return rows[0][0] if rows else ""


def _check_admin(caller: Caller) -> None:
    if not caller.user.is_admin:
        raise Forbidden("Only an admin may manage channels.")


def _channel(row: Row) -> Channel:
    id_, name, created_at, updated_at, created_by = row
    return Channel(
        id_,
        name,
        created_at,
        UNSET if updated_at is None else updated_at,
        created_by or UNSET,
    )
