"""Pinning and unpinning messages, and reading the pins of a place (extension H-2).

A place has at most `MOST_PINS` of those that who pins sees: what was pinned before they joined is not counted
for who does not see it (extension rule X-3).  Whoever sees a place pins in it: everybody in a channel, or who
manages it (`PinsOptions`), the two participants in their conversation.  Pinning changes no message, so
`updatedAt` stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat import BadRequest, Forbidden, Options, Transaction
from teamchat.model import Caller, Message, now_ms
from teamchat.storage.statements import chunks
from teamchat_pins.events import MessagePinned, MessageUnpinned
from teamchat_pins.tables import MOST_PINS

if TYPE_CHECKING:
    from teamchat import Room, Teamchat


POLICIES = {"members": 0, "managers": 1}
"""Who pins in channels, by the numbers that are announced."""


class PinsOptions(Options, frozen=True, kw_only=True):
    """The keys of ``[pins]``."""

    pin_policy: Annotated[
        Literal["members", "managers"],
        Meta(description="Who pins in channels: everybody who writes there, or who manages them."),
    ] = "members"


class PinFields(Struct, frozen=True, rename="camel"):
    """What a pinned message has besides: when it was pinned (epoch milliseconds), and by whom."""

    pinned_at: int | UnsetType = UNSET
    pinned_by: str | UnsetType = UNSET


class Pins:
    """The pins of a server."""

    def __init__(self, app: Teamchat, *, by_managers: bool = False) -> None:
        self._app, self._by_managers = app, by_managers

    async def pin(self, caller: Caller, message_id: str) -> PinFields:
        """Pin a message that the caller sees; one that is pinned stays as it is.

        Raises `NotFound` for no such message, `Forbidden` for who may not pin there, and `BadRequest` if its
        place has as many pins as it may have.
        """
        async with self._app.storage.write() as tx:
            seen = await self._app.message(tx, caller, message_id)
            self._check_may(caller, seen.room)
            if seen.room.is_archived:
                raise Forbidden("The channel is archived.")
            pinned = (await read_fields(tx, [seen.id])).get(seen.id)
            if pinned is None:
                pinned = PinFields(now_ms(), caller.user.id)
                await self._check_room(tx, caller, seen.room)
                await _insert(tx, seen.id, seen.room.id, pinned)
                event = MessagePinned(seen.id, seen.room.id, caller.user.id, int(pinned.pinned_at or 0))
                await tx.append(event.to(seen.audience))
        return pinned

    def _check_may(self, caller: Caller, room: Room) -> None:
        """Raise `Forbidden` unless the caller may pin in a room; in groups and conversations all do."""
        is_open = not self._by_managers or room.kind != "channel"
        if not (is_open or caller.user.is_admin or room.role == "manager"):
            raise Forbidden("Only who manages this channel may pin here.")

    async def _check_room(self, tx: Transaction, caller: Caller, room: Room) -> None:
        [(count,)] = await tx.fetch("select count(*) from pins where room_id = $1", room.id)
        if count >= MOST_PINS and len(await self._of(tx, caller, room)) >= MOST_PINS:
            raise BadRequest(f"There are {MOST_PINS} pinned messages here already; unpin one first.")

    async def unpin(self, caller: Caller, message_id: str) -> None:
        """Take a pin away, if there is one. Raises `NotFound` and `Forbidden` as `pin` does."""
        async with self._app.storage.write() as tx:
            seen = await self._app.message(tx, caller, message_id)
            self._check_may(caller, seen.room)
            if await tx.fetch("delete from pins where message_id = $1 returning number", seen.id):
                event = MessageUnpinned(seen.id, seen.room.id, caller.user.id, now_ms())
                await tx.append(event.to(seen.audience))

    async def of_channel(self, caller: Caller, channel_id: str) -> Sequence[Message]:
        """Return the pinned messages of a channel, newest pin first. Raises `NotFound`."""
        async with self._app.storage.read() as tx:
            return await self._of(tx, caller, await self._app.channel(tx, caller, channel_id))

    async def of_conversation(self, caller: Caller, conversation_id: str) -> Sequence[Message]:
        """Return those of a direct conversation. Raises `NotFound`, and `Forbidden` to an outsider."""
        async with self._app.storage.read() as tx:
            return await self._of(tx, caller, await self._app.conversation(tx, caller, conversation_id))

    async def _of(self, tx: Transaction, caller: Caller, room: Room) -> Sequence[Message]:
        rows = await tx.fetch("select message_id from pins where room_id = $1 order by number desc", room.id)
        return await self._app.messages(tx, caller, [message_id for (message_id,) in rows])


async def read_fields(
    tx: Transaction, ids: Sequence[str], _: Caller | None = None
) -> Mapping[str, PinFields]:
    """Return the fields of those of these messages that are pinned."""
    found: dict[str, PinFields] = {}
    for marks, piece in chunks(ids):
        rows = await tx.fetch(
            f"select message_id, pinned_at, pinned_by from pins where message_id in ({marks})",  # noqa: S608
            *piece,
        )
        found |= {message_id: PinFields(at, by) for message_id, at, by in rows}
    return found


async def are_pinned(tx: Transaction, _: Caller, ids: Sequence[str], __: str) -> Collection[str]:
    """Return those of these messages that are pinned, for who searches."""
    return (await read_fields(tx, ids)).keys()


async def _insert(tx: Transaction, message_id: str, room_id: str, pinned: PinFields) -> None:
    [(last,)] = await tx.fetch("select coalesce(max(number), 0) from pins where room_id = $1", room_id)
    await tx.fetch(
        "insert into pins (message_id, room_id, number, pinned_by, pinned_at) values ($1, $2, $3, $4, $5)",
        message_id,
        room_id,
        last + 1,
        pinned.pinned_by,
        pinned.pinned_at,
    )
