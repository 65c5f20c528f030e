"""What capabilities do within the transaction of a change, for everything that must be exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from teamchat.capabilities.declared import Declared
from teamchat.capabilities.guarded import ChangeGuard
from teamchat.capabilities.second_step import SecondStep
from teamchat.capabilities.user_fields import FieldsOfUsers

if TYPE_CHECKING:
    from teamchat.chat.sight import Room, SeenMessage
    from teamchat.events import Payload
    from teamchat.interfaces import Credentials, Transaction
    from teamchat.model import Message


class Changes:
    """What happens to messages, rooms and users. Subclass it, and override what you need.

    Each method is called in the transaction of the change: after the rows are written if something is added
    or changed, and before they are removed if something is removed.  What it writes is kept if and only if
    the change is.  It may wait for nothing but the transaction.  A `Problem` that it raises refuses the
    change and is the client's answer; any other exception, and taking longer than 5 seconds, fails the
    request with 500.  If a transaction is run again, because nothing of it was kept, the method is called
    again. Retention calls these methods just as a deletion by a user does.
    """

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        """Called when somebody has posted a message, a reply, or a direct message."""

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        """Called when the content or the images of a message have changed; `message` is as it is now."""

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        """Called before messages are deleted, including those in their threads."""

    async def thread_going(
        self, tx: Transaction, message_id: str, replies: Sequence[str], room: Room
    ) -> None:
        """Called before a message with many replies is deleted, for what must be done at once.

        From then on nobody sees any of them.  They are removed afterwards, some at a time, with
        `messages_going`.
        """

    async def reaction_added(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Called when a user has reacted to a message."""

    async def reaction_removed(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Called when a user has taken a reaction back."""

    async def room_made(self, tx: Transaction, room: Room) -> None:
        """Called when a channel, group, notes or direct conversation was created, with its first members."""

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """Called when a channel was archived or unarchived, or became or ceased to be a default channel.

        Also when a group became a channel.  `room` is as it was before.
        """

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """Called before a channel is deleted, for what must be done at once.

        From then on nobody sees it.  Its messages are removed afterwards, some at a time, with
        `messages_going`; most messages of a large channel are removed in later transactions.
        """

    async def room_clearing(self, tx: Transaction, room: Room) -> bool:  # noqa: ARG002
        """Called once a deleted channel's messages are gone, in several transactions, until it returns False.

        Remove here, a part at a time, what must not simply disappear with the row of the room.
        """
        return False

    async def members_changed(
        self, tx: Transaction, room: Room, joined: Sequence[str], left: Sequence[str]
    ) -> None:
        """Called when users have joined or left a room; `room` is as it was before.

        It is not called for a room's first members (`room_made`), nor for members by default (`room_changed`,
        `privacy_changed`).
        """

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        """Called when a channel was made private or public, after `members_changed`; `room` is as before."""

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Called when a user was removed or has left. Their row stays, and so do their messages."""

    async def user_deactivated(self, tx: Transaction, user_id: str) -> None:
        """Called when a user was deactivated. End here whatever acts in their name or reaches them elsewhere.

        Tokens and push subscriptions, for instance.  Being activated again brings none of them back.
        """

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:  # noqa: ARG002
        """Called after a user was deactivated, in separate transactions, until it returns False.

        Do here, a part at a time, what may take long: users choose how much they own, and that must not
        decide whether they can be shut out.  `is_going` says that they will be removed next.
        """
        return False

    async def user_activated(self, tx: Transaction, user_id: str) -> None:
        """Called when a user who was deactivated may sign in again."""

    async def admin_demoted(self, tx: Transaction, user_id: str) -> None:
        """Called when an admin has become an ordinary user. End here what they could do only as an admin."""

    async def address_proved(self, tx: Transaction, user_id: str) -> None:
        """Called when somebody has proved that an account's address is theirs, and others may have used it.

        This ends all sessions and the password (D-40).  End here what else acts in the user's name.
        """

    async def sessions_ended(
        self, tx: Transaction, user_id: str, session_ids: Sequence[str], kept: str | None
    ) -> None:
        """Called before sessions of a user end: signed out, ended by somebody else, or one too many.

        If `kept` is None, the sessions in `session_ids` end.  Otherwise all of the user's sessions end except
        `kept` (empty for none), including those that had expired.  Expiring by itself does not call this.
        """


Part = tuple[Changes, str, Declared]
"""What a capability does, what the log calls its plugin, and what it may send."""


class InTransaction:
    """Calls the `Changes` of all capabilities; a method that none of them overrides costs nothing."""

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

    async def thread_going(
        self, tx: Transaction, message_id: str, replies: Sequence[str], room: Room
    ) -> None:
        """A message with many replies is about to be deleted."""
        await self._call("thread_going", tx, message_id, replies, room)

    async def reaction_added(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Somebody has reacted to a message."""
        await self._call("reaction_added", tx, seen, user_id, reaction)

    async def reaction_removed(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """Somebody has taken a reaction back."""
        await self._call("reaction_removed", tx, seen, user_id, reaction)

    async def room_made(self, tx: Transaction, room: Room) -> None:
        """A room was created."""
        await self._call("room_made", tx, room)

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        """A channel became archived or default, or ceased to be."""
        await self._call("room_changed", tx, room)

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """A channel is about to be deleted."""
        await self._call("room_going", tx, room)

    async def room_clearing(self, tx: Transaction, room: Room) -> bool:
        """A deleted channel has no messages any more. Returns whether there is more to do."""
        return await self._in_part("room_clearing", tx, room)

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

    async def user_deactivated(self, tx: Transaction, user_id: str) -> None:
        """A user can't sign in for now."""
        await self._call("user_deactivated", tx, user_id)

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:
        """A user was deactivated. Returns whether there is more to do."""
        return await self._in_part("user_settling", tx, user_id, is_going=is_going)

    async def user_activated(self, tx: Transaction, user_id: str) -> None:
        """A user may sign in again."""
        await self._call("user_activated", tx, user_id)

    async def admin_demoted(self, tx: Transaction, user_id: str) -> None:
        """An admin is no longer one."""
        await self._call("admin_demoted", tx, user_id)

    async def address_proved(self, tx: Transaction, user_id: str) -> None:
        """What came before the first proof of an address ends."""
        await self._call("address_proved", tx, user_id)

    async def sessions_ended(
        self, tx: Transaction, user_id: str, session_ids: Sequence[str], kept: str | None = None
    ) -> None:
        """Sessions of a user are about to end."""
        await self._call("sessions_ended", tx, user_id, session_ids, kept)

    async def _in_part(self, name: str, tx: Transaction, *arguments: Any, **named: Any) -> bool:
        has_more = False
        with ChangeGuard(tx) as guard:
            for method, label, declared in self._called[name]:
                has_more |= await guard.call(name, partial(method, **named), label, declared, *arguments)
        return has_more

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
    """Capabilities, as seen by the code in whose changes they take part."""

    @property
    def event_types(self) -> Mapping[str, type[Payload]]:
        """The events that they declare, by type."""

    @property
    def in_transaction(self) -> InTransaction:
        """What they do with a change."""

    @property
    def user_fields(self) -> FieldsOfUsers:
        """The fields that they add to users."""

    @property
    def credentials(self) -> Credentials | None:
        """The tokens that one of them keeps; None if none does."""

    @property
    def has_bots(self) -> bool:
        """Whether programs with accounts of their own are let in (extension K-2)."""

    @property
    def second_step(self) -> SecondStep | None:
        """What tells who has a second factor; None if nothing does."""


class NoCapabilities:
    """Stands for those of a server that has none."""

    event_types: Mapping[str, type[Payload]] = MappingProxyType({})
    in_transaction = InTransaction()
    user_fields = FieldsOfUsers()
    credentials: Credentials | None = None
    has_bots = False
    second_step: SecondStep | None = None
