"""Optional fields of messages that capabilities bring, read for a whole page at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from teamchat.errors import PluginError
from teamchat.interfaces import Transaction
from teamchat.model import Caller, Message

Read = Callable[[Transaction, Sequence[str], Caller | None], Awaitable[Mapping[str, Struct]]]


@dataclass(frozen=True, kw_only=True)
class MessageFields:
    """Extra fields of messages: those of `kind`, a struct in which every field may be missing::

        class PinFields(Struct, frozen=True, rename="camel"):
            pinned_at: int | UnsetType = UNSET

    The newest pages are cached, so an event that says that fields have changed names the room in
    `Payload.changes_pages_of`.
    """

    kind: type[Struct]
    read: Read
    """Gets the ids of a page's messages, all of which the caller sees, and returns the fields of those that
    have any; one statement should do. It is called for pages, threads and direct messages, and for a message
    after an edit, whose event carries the fields too."""
    differ_by_caller: bool = False
    """Whether `read` is called for each caller, and never for events. Its fields are inserted into the page
    that is cached for everybody, so each reader costs a statement. Without it, `read` gets None as the
    caller."""
    of_new: bool = False
    """Whether `read` is also called for a message that was just posted. It is not asked for fields that
    `DraftFields.write` has already returned."""


_NONE_KNOWN: Mapping[type[Struct], Struct] = MappingProxyType({})


class Fields:
    """All fields of all capabilities. If there are none, nothing is read."""

    def __init__(self, offered: Sequence[MessageFields] = ()) -> None:
        # In a kept page, those that differ by caller come after all others.
        self.offered = tuple(sorted(offered, key=lambda one: one.differ_by_caller))
        self._own = [one for one in self.offered if one.differ_by_caller]
        self._of_new = [one for one in self.offered if one.of_new and not one.differ_by_caller]
        self.differ_by_caller = bool(self._own)
        self._kind = _extended(self.offered)
        self._own_kind = msgspec.defstruct("OwnFields", _declared(self._own), frozen=True, rename="camel")

    async def added(
        self, tx: Transaction, messages: list[Message], caller: Caller | None = None
    ) -> list[Message]:
        """Return messages with their fields. Those that differ by caller are read only if one is given."""
        asked = [one for one in self.offered if caller is not None or not one.differ_by_caller]
        return await self._added(tx, messages, asked, caller)

    async def for_all(self, tx: Transaction, messages: list[Message], without: type[Struct]) -> list[Message]:
        """Return messages with the fields that are the same for everybody, except those of `without`."""
        asked = [one for one in self.offered if not one.differ_by_caller and one.kind is not without]
        return await self._added(tx, messages, asked, None)

    async def of_new(
        self, tx: Transaction, message: Message, known: Mapping[type[Struct], Struct] = _NONE_KNOWN
    ) -> Message:
        """Return a message that was just posted, with its fields. Kinds that are in `known` are not read."""
        asked = [one for one in self._of_new if one.kind not in known]
        if not asked and not known:
            return message
        values = (await _read(tx, [message.id], asked, None)).get(message.id, {})
        for fields in known.values():
            values |= msgspec.structs.asdict(fields)
        return self._with(message, values)

    async def own(self, tx: Transaction, ids: Sequence[str], caller: Caller) -> dict[str, bytes]:
        """Return the fields that differ by caller, of messages that have any: JSON without its braces."""
        values = await _read(tx, ids, self._own, caller)
        encoded = {
            message_id: msgspec.json.encode(self._own_kind(**fields))[1:-1]
            for message_id, fields in values.items()
        }
        return {message_id: fields for message_id, fields in encoded.items() if fields}

    async def _added(
        self,
        tx: Transaction,
        messages: list[Message],
        asked: Sequence[MessageFields],
        caller: Caller | None,
    ) -> list[Message]:
        if not asked or not messages:
            return messages
        values = await _read(tx, [message.id for message in messages], asked, caller)
        return [self._with(message, values.get(message.id)) for message in messages]

    def _with(self, message: Message, values: Mapping[str, Any] | None) -> Message:
        if values is None or all(value is UNSET for value in values.values()):
            return message
        extended: Message = self._kind(**msgspec.structs.asdict(message), **values)
        return extended


async def _read(
    tx: Transaction, ids: Sequence[str], asked: Sequence[MessageFields], caller: Caller | None
) -> dict[str, dict[str, Any]]:
    """Return the values of fields by message, of those messages that have some."""
    values: dict[str, dict[str, Any]] = {}
    for one in asked:
        found = await one.read(tx, ids, caller if one.differ_by_caller else None)
        for message_id, fields in found.items():
            values.setdefault(message_id, {}).update(msgspec.structs.asdict(fields))
    return values


def _declared(offered: Sequence[MessageFields]) -> list[tuple[str, Any, Any]]:
    """Return the fields as `msgspec.defstruct` takes them."""
    return [(field.name, field.type, UNSET) for one in offered for field in msgspec.structs.fields(one.kind)]


def _extended(offered: Sequence[MessageFields]) -> type[Message]:
    """Return the struct of a message that has all these fields."""
    fields = _declared(offered)
    if not fields:
        return Message
    every: list[type[Struct]] = [Message, *(one.kind for one in offered)]
    names = [field.encode_name for one in every for field in msgspec.structs.fields(one)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PluginError(
            f"Two capabilities add the field {twice[0]} to messages, or it is there already. "
            "Turn one of them off."
        )
    return msgspec.defstruct("Message", fields, bases=(Message,), frozen=True, rename="camel")  # type: ignore[return-value]
