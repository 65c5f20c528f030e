"""How far somebody has read: the pair (generation, position), and what moves it (extensions D-2, D-3).

A position is a place in the order of messages, whether or not there is a message.
"""

from __future__ import annotations

from typing import NamedTuple

from teamchat.errors import BadRequest
from teamchat.model.ids import could_be_id, is_conversation_id
from teamchat.read_state.tables import BEGINNING

_TIME = 12
"""How many digits of an id tell its time."""


class Mark(NamedTuple):
    """How far a member has read. With `is_marked` they have marked something as unread since."""

    position: str
    generation: int = 0
    is_marked: bool = False

    def read(self, position: str, generation: int | None, newest: str | None) -> Mark:
        """Return the mark after everything up to `position` was shown.

        It never moves back, nor beyond the `newest` message: a wrong clock would hide what comes. A
        `generation` that is older than this mark's changes nothing.
        """
        if generation is not None and generation < self.generation:
            return self
        reached = min(position, newest or self.position)
        return Mark(max(self.position, reached), self.generation)

    def unread(self, first: str, newest: str | None) -> Mark:
        """Return the mark after the message `first` and what follows were marked as unread."""
        position = min(before(first), newest or BEGINNING)
        if self.is_marked and self.position == position:
            return self
        return Mark(position, self.generation + 1, is_marked=True)


def check_position(name: str, position: str) -> None:
    """Raise `BadRequest` for what is not the id of a message."""
    if not could_be_id(position) or is_conversation_id(position):
        raise BadRequest(f"{name} is not the id of a message.")


def moment(milliseconds: int) -> str:
    """Return the position that is before every message of that time or later."""
    return f"{max(0, milliseconds):0{_TIME}x}".ljust(32, "0")


def began_by_default(user_id: str, made_at: int, default_base: str) -> str:
    """Return where somebody began who is in a room by default, and whose account was made then."""
    return max(default_base, moment_of_account(user_id, made_at))


def moment_of_account(user_id: str, made_at: int) -> str:
    """Return the position that is before every message of after an account was made, and after those before.

    Some may be of the same millisecond: where the account's id is of that time, it is in order with theirs.
    The id of one that was brought in may be anything.
    """
    at = moment(made_at)
    return user_id if user_id.startswith(at[:_TIME]) else at


def began_by_joining(joined_at: int, since: int, base: str, first_epoch: int) -> str:
    """Return where a member began who has joined then, in the epoch `since`.

    Who is in a room from the first begins before every message, by whatever clock.
    """
    return min(base, moment(joined_at)) if since <= first_epoch else moment(joined_at)


def before(message_id: str) -> str:
    """Return the last position that is before a message."""
    return f"{max(0, int(message_id, 16) - 1):032x}"
