"""What capabilities do within the transaction of a change, so that what must be exact is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from teamchat.capabilities.declared import Declared
from teamchat.capabilities.guarded import ChangeGuard

if TYPE_CHECKING:
    from teamchat.chat.sight import Room, SeenMessage
    from teamchat.events import Payload
    from teamchat.interfaces import Transaction
    from teamchat.model import Message


class Changes:
    """What happens to messages, rooms and users. Subclass it, and override what you need.

    Each method is called in the transaction of the change, after the rows were written where something comes
    or changes, and before they go where something goes.  What it writes is kept if the change is, and not
    otherwise; it may wait for the transaction alone.  A `Problem` that it raises refuses the change and is
    answered to the client; any other exception, and taking longer than 5 seconds, fails the request with 500.
    Retention calls them as a user's deletion does.
    """

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        """Called when somebody has posted a message, a reply, or a direct message."""

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        """Called when a message has other content or other images; it is given as it is now."""

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        """Called before messages are deleted, those of their threads among them."""

    async def reaction_added(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Called when a user has reacted to a message."""

    async def reaction_removed(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Called when a user has taken a reaction back."""

    async def room_made(self, tx: Transaction, room: Room) -> None:
        """Called when a channel, a group, notes or a direct conversation was made, with its first members."""

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """Called when a channel was archived or opened again, has become a default one or is no longer.

        Also when a group has become a channel. It is given as it was.
        """

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """Called before a channel is deleted, with all messages in it; there is no call for each of these."""

    async def members_changed(
        self, tx: Transaction, room: Room, joined: Sequence[str], left: Sequence[str]
    ) -> None:
        """Called when users have become members of a room, or are no longer; it is given as it was.

        Its first members are told by `room_made`, who is one by default by `room_changed` and
        `privacy_changed`.
        """

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        """Called when a channel was made private or public, after `members_changed`; given as it was."""

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Called when a user was removed or has left. Their row stays, and so do their messages."""


Part = tuple[Changes, str, Declared]
"""What a capability does, the plugin as the log calls it, and what it may send."""


class InTransaction:
    """Calls what capabilities do with a change; where none overrides it, nothing is done."""

    def __init__(self, changes: Sequence[Part] = ()) -> None:
        self._called = {name: _overridden(changes, name) for name in _NAMES}

    async def message_stored(self, guard: ChangeGuard, message: Message, room: Room) -> None:
        """A message was posted."""
        await self._call_within(guard, "message_stored", message, room)

    async def message_edited(self, guard: ChangeGuard, message: Message, room: Room) -> None:
        """A message was edited."""
        await self._call_within(guard, "message_edited", message, room)

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        """Messages are about to be deleted."""
        await self._call("messages_going", tx, ids, room)

    async def reaction_added(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Somebody has reacted to a message."""
        await self._call("reaction_added", tx, seen, user_id, reaction)

    async def reaction_removed(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Somebody has taken a reaction back."""
        await self._call("reaction_removed", tx, seen, user_id, reaction)

    async def room_made(self, tx: Transaction, room: Room) -> None:
        """A room is there."""
        await self._call("room_made", tx, room)

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """A channel is archived or default, or no longer."""
        await self._call("room_changed", tx, room)

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """A channel is about to be deleted."""
        await self._call("room_going", tx, room)

    async def members_changed(
        self, tx: Transaction, room: Room, joined: Sequence[str], left: Sequence[str]
    ) -> None:
        """A channel has other members."""
        await self._call("members_changed", tx, room, joined, left)

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        """A channel was made private or public."""
        await self._call("privacy_changed", tx, room)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """A user is gone."""
        await self._call("user_gone", tx, user_id)

    async def _call(self, name: str, tx: Transaction, *arguments: Any) -> None:
        if self._called[name]:
            with ChangeGuard(tx) as guard:
                await self._call_within(guard, name, *arguments)

    async def _call_within(self, guard: ChangeGuard, name: str, *arguments: Any) -> None:
        for method, label, declared in self._called[name]:
            await guard.call(name, method, label, declared, *arguments)


_NAMES = [name for name in vars(Changes) if not name.startswith("_")]


def _overridden(changes: Sequence[Part], name: str) -> list[tuple[Callable[..., Any], str, Declared]]:
    return [
        (getattr(one, name), label, declared)
        for one, label, declared in changes
        if getattr(type(one), name) is not getattr(Changes, name)
    ]


class TakesPart(Protocol):
    """Capabilities, as those know them whose changes they take part in."""

    @property
    def event_types(self) -> Mapping[str, type[Payload]]:
        """The events that they declare, by type."""

    @property
    def in_transaction(self) -> InTransaction:
        """What they do with a change."""


class NoCapabilities:
    """Stands for those of a server that has none."""

    event_types: Mapping[str, type[Payload]] = MappingProxyType({})
    in_transaction = InTransaction()
