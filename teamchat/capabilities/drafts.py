"""Extra fields that messages are posted and edited with, and what capabilities do with them.

The message is stored first, in its transaction.  Then each capability that takes part gets its own fields,
checks them, and writes its rows.  What it returns goes into the answer and the event without being read
again.
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
    """Base of the bodies that messages are posted and edited with; capabilities add fields to it."""


Body = TypeVar("Body", bound=MessageBody)


class Written(NamedTuple):
    """A message that is being posted or edited, as it is now, without the fields of capabilities."""

    message: Message
    room: Room
    caller: Caller | None
    """Who writes it. None for a webhook; `message.author.id` says which."""
    fields: Any
    """The fields of `DraftFields.kind` that the body has."""
    asked: str
    """The content as it was sent, before message filters."""
    before: str | None = None
    """The content that an edit replaces; None for a new message."""
    from_others: Mapping[type[Any], Any] = MappingProxyType({})
    """What the capabilities that this one needs have left for it, by its type (`Outcome.to_others`)."""


class Outcome(NamedTuple):
    """What a message has because of a capability."""

    fields: Struct | None = None
    """Fields of the message, of the capability's `MessageFields.kind`."""
    beside: Struct | None = None
    """Fields beside the message in the answer to its author, of `DraftFields.beside`."""
    to_others: Any = None
    """For capabilities that need this one, so that they need not read what it has just written."""


Write = Callable[[Transaction, Written], Awaitable[Outcome]]
Concerns = Callable[[Written], bool]
StandsAlone = Callable[[Transaction, Any, str | None], Awaitable[bool]]


@dataclass(frozen=True, kw_only=True)
class DraftFields:
    """Extra fields that messages are posted with: those of `kind`, a struct in which each may be missing::

        class QuoteDraft(Struct, frozen=True, rename="camel"):
            quoted_message_id: str | UnsetType = UNSET

    `write` is called for every message that is posted or edited, in its transaction: after the message
    filters, after the message's row was written, and after the `write` of the capabilities that this one
    needs.  What it writes is kept if the message is.  A `Problem` that it raises refuses the message and is
    the client's answer.  It may wait for nothing but the transaction, and for 5 seconds at most.  If a
    transaction is run again, because nothing of it was kept, it is called again.  It is not called for a
    retry that finds what an earlier try has made (Idempotency-Key).
    """

    kind: type[Struct]
    write: Write
    concerns: Concerns | None = None
    """Returns whether `write` has anything to do. A call within a transaction costs every post some
    microseconds, and this can save it."""
    beside: type[Struct] | None = None
    """The struct of the fields that `write` puts beside the message in the answer."""
    stands_alone: StandsAlone | None = None
    """Gets the fields and the id of the message, None for a new one; returns whether it needs no text."""


DraftPart = tuple[DraftFields, str, Declared]
"""Such fields, what the log calls their plugin, and what it may send."""


class Drafts:
    """The fields of all capabilities. If there are none, bodies stay as they are."""

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
        """Return the struct of a body, extended by the fields of all capabilities."""
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
        """Return whether what a message has of a capability is enough, so that it needs no text."""
        for fields, asked, label, declared in self._alone:
            own = _own(fields, body)
            with ChangeGuard(tx) as guard:
                if await guard.call("stands_alone", asked, label, declared, own, message_id):
                    return True
        return False

    async def write(
        self, guard: ChangeGuard, body: MessageBody, written: Written
    ) -> tuple[Mapping[type[Struct], Struct], Mapping[str, Any]]:
        """Call every capability's `write`, each with its own fields in `written`.

        Returns the fields that the message gets, by their kind, and what is put beside it in the answer.
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
