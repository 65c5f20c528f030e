"""Optional fields of messages that capabilities bring, read for a whole page at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from teamchat.errors import PluginError
from teamchat.interfaces import Transaction
from teamchat.model import Caller, Message

Read = Callable[[Transaction, Sequence[str], Caller | None], Awaitable[Mapping[str, Struct]]]


@dataclass(frozen=True, kw_only=True)
class MessageFields:
    """Fields that messages have besides: those of `kind`, a struct of which every field may be missing::

        class PinFields(Struct, frozen=True, rename="camel"):
            pinned_at: int | UnsetType = UNSET

    `read` is given the ids of a page's messages, which the caller sees, and returns the fields of those that
    have any; one statement should do.  It is asked for pages, threads and direct messages, and for a message
    after an edit, whose event carries them too.  An event that says they have changed names in
    `Payload.changes_pages_of` the room, for newest pages are kept in memory.

    With `differ_by_caller` it is asked anew for each caller (who is None otherwise), and never for events;
    then no page of a channel is kept in memory.  `of_new` asks it also for a message that was just posted.
    """

    kind: type[Struct]
    read: Read
    differ_by_caller: bool = False
    of_new: bool = False


class Fields:
    """All fields of all capabilities; without any, nothing is asked."""

    def __init__(self, offered: Sequence[MessageFields] = ()) -> None:
        self.offered = tuple(offered)
        self.differ_by_caller = any(one.differ_by_caller for one in offered)
        self._kind = _extended(offered)

    async def added(
        self, tx: Transaction, messages: list[Message], caller: Caller | None = None
    ) -> list[Message]:
        """Return messages with their fields; those that differ by caller only if one is given."""
        asked = [one for one in self.offered if caller is not None or not one.differ_by_caller]
        return await self._added(tx, messages, asked, caller)

    async def of_new(self, tx: Transaction, message: Message) -> Message:
        """Return a message that was just posted with its fields."""
        asked = [one for one in self.offered if one.of_new and not one.differ_by_caller]
        return (await self._added(tx, [message], asked, None))[0]

    async def _added(
        self,
        tx: Transaction,
        messages: list[Message],
        asked: Sequence[MessageFields],
        caller: Caller | None,
    ) -> list[Message]:
        if not asked or not messages:
            return messages
        ids = [message.id for message in messages]
        values: dict[str, dict[str, Any]] = {}
        for one in asked:
            found = await one.read(tx, ids, caller if one.differ_by_caller else None)
            for message_id, fields in found.items():
                values.setdefault(message_id, {}).update(msgspec.structs.asdict(fields))
        return [self._with(message, values.get(message.id)) for message in messages]

    def _with(self, message: Message, values: Mapping[str, Any] | None) -> Message:
        if values is None or all(value is UNSET for value in values.values()):
            return message
        extended: Message = self._kind(**msgspec.structs.asdict(message), **values)
        return extended


def _extended(offered: Sequence[MessageFields]) -> type[Message]:
    """Return the struct of a message that has all these fields."""
    kinds = [one.kind for one in offered]
    fields = [(field.name, field.type, UNSET) for kind in kinds for field in msgspec.structs.fields(kind)]
    if not fields:
        return Message
    every: list[type[Struct]] = [Message, *kinds]
    names = [field.encode_name for one in every for field in msgspec.structs.fields(one)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PluginError(
            f"Two capabilities add the field {twice[0]} to messages, or it is there already. "
            "Turn one of them off."
        )
    return msgspec.defstruct("Message", fields, bases=(Message,), frozen=True, rename="camel")  # type: ignore[return-value]
