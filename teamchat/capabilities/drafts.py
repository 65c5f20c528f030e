"""Optional fields of what messages are posted and edited with, and what capabilities do with them.

A message is stored first, in its transaction; then each capability that takes part is given the fields of its
own, checks them, and writes its rows.  What it says the message has because of them goes into the answer and
the event without being read again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct

from teamchat.capabilities.declared import Declared
from teamchat.capabilities.guarded import ChangeGuard
from teamchat.errors import PluginError
from teamchat.interfaces import Transaction
from teamchat.model import Caller, Message

if TYPE_CHECKING:
    from teamchat.chat.sight import Room


class MessageBody(Struct, frozen=True, rename="camel"):
    """Base of the bodies that messages are posted and edited with; capabilities add fields to them."""


Body = TypeVar("Body", bound=MessageBody)


class Written(NamedTuple):
    """A message that is being posted or edited, as it stands now, but for the fields of capabilities.

    `caller` is who writes it; of a webhook it is None, and `message.author.id` says which.  `fields` are
    those that the body has of `DraftFields.kind`.  `asked` is the content as it was sent, before message
    filters, and `before` what an edit replaces; it is None for a new message.  `from_others` is what
    capabilities that this one needs have left for it, by the type (`Outcome.to_others`).
    """

    message: Message
    room: Room
    caller: Caller | None
    fields: Any
    asked: str
    before: str | None = None
    from_others: Mapping[type[Any], Any] = MappingProxyType({})


class Outcome(NamedTuple):
    """What a message has because of a capability: `fields`, of the kind of its `MessageFields`.

    `beside` are fields that stand beside the message in the answer to its author, of `DraftFields.beside`.
    `to_others` is for capabilities that need this one, which so need not read what it has just written.
    """

    fields: Struct | None = None
    beside: Struct | None = None
    to_others: Any = None


Write = Callable[[Transaction, Written], Awaitable[Outcome]]
Concerns = Callable[[Written], bool]
StandsAlone = Callable[[Transaction, Any, str | None], Awaitable[bool]]


@dataclass(frozen=True, kw_only=True)
class DraftFields:
    """Fields that bodies of messages have besides: those of `kind`, a struct of which each may be missing::

        class QuoteDraft(Struct, frozen=True, rename="camel"):
            quoted_message_id: str | UnsetType = UNSET

    `write` is called for every message that is posted or edited, in its transaction, after the message
    filters and after its row was written, and after those of capabilities that this one needs.  What it
    writes is kept if the message is; a `Problem` that it raises refuses the message, and is answered.  It may
    wait for the transaction alone, for 5 seconds.  A transaction may be run anew, where nothing of it was
    kept, and calls it again.  It is not asked for a retry that finds what it made before (Idempotency-Key).
    Nor is it called where `concerns` says that there is nothing to do: a call within a transaction costs
    every post some microseconds.

    `beside` is the struct of fields that it has put into the answer beside the message.  `stands_alone` is
    asked, with the fields and the id of the message (None if it is a new one), whether it needs no text.
    """

    kind: type[Struct]
    write: Write
    concerns: Concerns | None = None
    beside: type[Struct] | None = None
    stands_alone: StandsAlone | None = None


DraftPart = tuple[DraftFields, str, Declared]
"""Such fields, the plugin as the log calls it, and what it may send."""


class Drafts:
    """The fields of all capabilities; without any, bodies are as they were."""

    def __init__(self, offered: Sequence[DraftPart] = ()) -> None:
        self._parts = offered
        self._alone = [
            (one, one.stands_alone, label, declared)
            for one, label, declared in offered
            if one.stands_alone is not None
        ]
        self._kinds: dict[type[MessageBody], type[MessageBody]] = {}
        self.offered = tuple(fields for fields, _, _ in offered)
        _check_names(self.offered)
        self._names = [name for fields in self.offered for name in fields.kind.__struct_fields__]

    def extended(self, kind: type[Body]) -> type[Body]:
        """Return the struct of a body that has the fields of all capabilities too."""
        if not self._parts:
            return kind
        if kind not in self._kinds:
            added = [
                (field.name, field.type, UNSET)
                for fields in self.offered
                for field in msgspec.structs.fields(fields.kind)
            ]
            made = msgspec.defstruct(kind.__name__, added, bases=(kind,), frozen=True, rename="camel")
            self._kinds[kind] = made  # type: ignore[assignment]
        return self._kinds[kind]  # type: ignore[return-value]

    def given(self, body: MessageBody) -> Mapping[str, Any]:
        """Return the fields of capabilities that a body has, by name."""
        found = {name: getattr(body, name, UNSET) for name in self._names}
        return {name: value for name, value in found.items() if value is not UNSET}

    async def stands_alone(self, tx: Transaction, body: MessageBody, message_id: str | None = None) -> bool:
        """Return whether a message needs no text beside what it has of a capability."""
        for fields, asked, label, declared in self._alone:
            own = _own(fields, body)
            with ChangeGuard(tx) as guard:
                if await guard.call("stands_alone", asked, label, declared, own, message_id):
                    return True
        return False

    async def write(
        self, guard: ChangeGuard, body: MessageBody, written: Written
    ) -> tuple[Mapping[type[Struct], Struct], Mapping[str, Any]]:
        """Have capabilities do their part; `written` is given to each with the fields of its own.

        Returns the fields that the message has, by their kind, and what stands beside it in the answer.
        """
        known: dict[type[Struct], Struct] = {}
        beside: dict[str, Any] = {}
        from_others: dict[type[Any], Any] = {}
        message, room, caller, _, asked, before, _ = written
        for fields, label, declared in self._parts:
            # Every post comes here for each of them: `_replace` would take twice as long.
            own = Written(message, room, caller, _own(fields, body), asked, before, from_others)
            if fields.concerns is not None and not fields.concerns(own):
                continue
            outcome: Outcome = await guard.call("write", fields.write, label, declared, own)
            if outcome.fields is not None:
                known[type(outcome.fields)] = outcome.fields
            if outcome.beside is not None:
                beside |= msgspec.to_builtins(outcome.beside)
            if outcome.to_others is not None:
                from_others[type(outcome.to_others)] = outcome.to_others
        return known, beside


def _own(fields: DraftFields, body: MessageBody) -> Struct:
    """Return the fields of one capability that a body has."""
    own = {name: getattr(body, name, UNSET) for name in fields.kind.__struct_fields__}
    return fields.kind(**own)


def _check_names(offered: Sequence[DraftFields]) -> None:
    taken = {"content", "images"}
    for fields in offered:
        for field in msgspec.structs.fields(fields.kind):
            if field.encode_name in taken:
                raise PluginError(
                    f"Two capabilities add the field {field.encode_name} to what messages are posted with, "
                    "or it is there already. Turn one of them off."
                )
            taken.add(field.encode_name)
