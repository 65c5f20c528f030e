"""Who may do what in a room or with a message that they see (decisions D-28, D-29; extensions B-3, B-6).

Each function raises `Forbidden` if the caller may not. Whether they see it was checked before, by
`teamchat.chat.sight`.
"""

from __future__ import annotations

from teamchat.chat.sight import Room, SeenMessage
from teamchat.errors import BadRequest, Forbidden
from teamchat.model import Caller

MANAGER = "manager"


def check_open(room: Room) -> None:
    """Nothing is said or changed in an archived channel, but what one may delete is deleted (B-6)."""
    if room.is_archived:
        raise Forbidden("The channel is archived.")


def check_may_post(caller: Caller, room: Room) -> None:
    """Everybody posts, or managers and admins alone; replies are everybody's."""
    check_open(room)
    if room.post_policy == "managers":
        check_manages(caller, room, "Only managers may post in this channel.")


def check_is_channel(room: Room) -> None:
    """Groups and notes are nobody's to manage, archive, delete, or give webhooks to (C-8)."""
    if room.kind != "channel":
        raise Forbidden("Groups and notes can't be managed.")


def check_may_describe(caller: Caller, room: Room) -> None:
    """Managers change a channel and admins who see it; of a group or notes, everybody in it the topic."""
    if room.kind == "channel":
        check_manages(caller, room)


def check_may_add(caller: Caller, room: Room, *, is_member: bool) -> None:
    """In a public channel members add others, in a private one members or managers; and admins."""
    check_open(room)
    if room.kind == "notes":
        raise Forbidden("Nobody can be added to notes.")
    if caller.user.is_admin or room.role == MANAGER:
        return
    if room.is_private and room.invite_policy == "managers":
        raise Forbidden("Only managers may add members to this channel.")
    if not is_member:
        raise Forbidden("Only members may add others to this channel.")


def check_manages(
    caller: Caller, room: Room, refusal: str = "Only a manager of the channel or an admin may do this."
) -> None:
    """Managers of a channel change it, and admins who see it."""
    check_is_channel(room)
    if room.role != MANAGER and not caller.user.is_admin:
        raise Forbidden(refusal)


def check_may_edit(caller: Caller, seen: SeenMessage) -> None:
    """The author alone edits a message, in a channel that is open; a webhook's has no author who could."""
    if seen.author_id != caller.user.id:
        raise Forbidden("Only the author may edit a message.")
    check_open(seen.room)


def check_may_delete(caller: Caller, seen: SeenMessage) -> None:
    """The author deletes a message; in channels an admin does too (decision D-29, extension C-8)."""
    if seen.author_id == caller.user.id or (caller.user.is_admin and seen.room.kind == "channel"):
        return
    raise Forbidden("You may not delete this message.")


def check_can_have_thread(parent: SeenMessage) -> None:
    """Raise `BadRequest` unless it is a top-level message of a channel (decision D-28)."""
    if parent.room.participants is not None:
        raise BadRequest("A direct message has no thread.")
    if parent.parent_id is not None:
        raise BadRequest("A reply has no thread of its own.")
