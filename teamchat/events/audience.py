"""Who an event is for (decision D-35; extension rule X-5)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from teamchat.model.resources import RoomKind


class InRoom(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who sees a room: those who do when the event is handed out, and did at this epoch of the room.

    The epoch grows with every change of the room's members and of its privacy.  With `is_private` they are
    its members.  `message` is the message that the event is about, of a reply its parent: who does not see
    that is not told.  `users`, if any, are the only ones told.  With `outsiders` it is told to who was no
    member at this epoch: that they do not see the room any more if it is private, that they see it now if it
    is public.  With `all_scopes` also those streams are told that are about joined rooms alone, whoever has
    joined it.  `but`, if any, are not told.  With `insiders` it is told to who was a member at this epoch and
    is, in a room that everybody is in by default also to who has not left it.
    """

    room_id: str
    epoch: int
    is_private: bool
    message: str = ""
    users: tuple[str, ...] = ()
    outsiders: bool = False
    kind: RoomKind = "channel"
    all_scopes: bool = False
    but: tuple[str, ...] = ()
    insiders: bool = False

    @property
    def of_members(self) -> InRoom:
        """The members of the room, also of a public one."""
        return replace(self, is_private=True)

    @property
    def of_outsiders(self) -> InRoom:
        """Those who see the room for the first time now, or do no longer, as its privacy has changed."""
        return replace(self, outsiders=True)

    @property
    def of_insiders(self) -> InRoom:
        """The members of the room, in one that everybody is in by default also those without a row."""
        return replace(self, insiders=True)

    def without(self, users: Sequence[str]) -> InRoom:
        """Return the audience without these users."""
        return replace(self, but=tuple(users))

    def only(self, users: Sequence[str]) -> InRoom:
        """Return these users of the audience."""
        return replace(self, users=tuple(users))


Audience = tuple[str, ...] | InRoom | None
"""Who may receive an event: users by their ids, who sees a room, or with None everyone signed in."""
