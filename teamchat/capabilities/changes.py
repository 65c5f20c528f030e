"""What capabilities do within the transaction of a change, so that what must be exact is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import trio

from teamchat.errors import Problem, StorageError, TeamchatError
from teamchat.logs import get_logger

if TYPE_CHECKING:
    from teamchat.chat.sight import Room
    from teamchat.interfaces import Transaction
    from teamchat.model import Message

CHANGE_SECONDS = 5.0
"""How long what one capability does with one change may take; all other writers wait meanwhile."""

_log = get_logger(__name__)


class Changes:
    """What happens to messages, rooms and users. Subclass it, and override what you want to be told.

    Each method is called in the transaction of the change, after the rows were written where something comes
    or changes, and before they go where something goes.  What it writes is kept if the change is, and not
    otherwise; it may wait for the transaction alone.  A `Problem` that it raises refuses the change and is
    told to the client; any other exception, and taking longer than 5 seconds, fails the request with 500.
    Retention calls them as a user's deletion does.
    """

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        """Called when somebody has posted a message, a reply, or a direct message."""

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        """Called when a message has other content or other images; it is given as it is now."""

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        """Called before messages are deleted, those of their threads among them."""

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """Called before a channel is deleted, with all messages in it; these are not told one by one."""

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Called when a user was removed or has left. Their row stays, and so do their messages."""


class ChangeFailed(TeamchatError):
    """What a capability does in the transaction of a change has failed; the message names its plugin."""


class InTransaction:
    """Calls what capabilities do with a change; where none wants to be told, nothing is done."""

    def __init__(self, changes: Sequence[tuple[Changes, str]] = ()) -> None:
        self._called = {name: _overridden(changes, name) for name in _NAMES}

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        """A message was posted."""
        await self._call("message_stored", tx, message, room)

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        """A message was edited."""
        await self._call("message_edited", tx, message, room)

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        """Messages are about to be deleted."""
        await self._call("messages_going", tx, ids, room)

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """A channel is about to be deleted."""
        await self._call("room_going", tx, room)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """A user is gone."""
        await self._call("user_gone", tx, user_id)

    async def _call(self, name: str, *arguments: Any) -> None:
        for method, label in self._called[name]:
            try:
                with trio.fail_after(CHANGE_SECONDS):
                    await method(*arguments)
            except (Problem, StorageError):
                raise
            except trio.TooSlowError as error:
                _log.error("a capability took too long within a transaction", plugin=label, at=name)
                raise ChangeFailed(
                    f"{name} of {label} took longer than {CHANGE_SECONDS:g} seconds"
                ) from error
            except Exception as error:
                _log.error("a capability failed within a transaction", plugin=label, at=name, exc_info=error)
                raise ChangeFailed(f"{name} of {label} failed") from error


_NAMES = [name for name in vars(Changes) if not name.startswith("_")]


def _overridden(changes: Sequence[tuple[Changes, str]], name: str) -> list[tuple[Callable[..., Any], str]]:
    return [
        (getattr(one, name), label)
        for one, label in changes
        if getattr(type(one), name) is not getattr(Changes, name)
    ]
