"""What must be true of rooms and of their members (extensions B, C)."""

from __future__ import annotations

from teamchat.capabilities import Check
from teamchat.chat.joining import MOST_IN_GROUP
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.operations.checking.findings import Finding, ok, problem

_ENTER = "Let an admin enter it and see to it: POST /admin/channels/:channelId/enter. It tells all members."
_REMOVE = "Let a manager, or an admin who has entered the channel, remove them and add them again."
_COUNT = "(select count(*) from memberships m where m.room_id = r.id)"

RULES = (
    Check(
        "rooms",
        "each is of a kind that there is, and what is no channel is private",
        """select count(*) from rooms where kind not in ('channel', 'group', 'notes', 'direct', 'gone')
           or (kind <> 'channel' and is_private = 0)""",
    ),
    Check(
        "rooms",
        "public channels have names of their own, private ones clash with none and are nobody's by default",
        """select count(*) from rooms where (kind = 'channel' and name is null)
           or (is_private = 0 and name_key is null)
           or (is_private = 1 and (name_key is not null or is_default = 1))""",
    ),
    Check(
        "rooms",
        "none is there that was deleted",
        "select count(*) from closed_rooms c join rooms r on r.id = c.id and r.kind <> 'gone'",
    ),
    Check(
        "rooms",
        "nobody finds one that is being removed",
        """select count(*) from rooms r where kind = 'gone' and (name is not null or exists
           (select 1 from memberships m where m.room_id = r.id))""",
    ),
    Check(
        "rooms",
        "none that everybody is in is archived",
        "select count(*) from rooms where is_default = 1 and archived_at is not null",
        "Everybody has a channel in which nothing can be said. POST /channels/:channelId/unarchive opens it, "
        'PUT /channels/:channelId {"isDefault": false} takes it from those who have not joined it.',
        is_warning=True,
    ),
    Check(
        "private rooms",
        "each channel with a member who could manage it has a manager",
        """select count(*) from rooms r where kind = 'channel' and is_private = 1
           and exists (select 1 from memberships m join users u on u.id = m.user_id
             where m.room_id = r.id and u.deactivated_at is null and u.is_bot = 0)
           and not exists (select 1 from memberships m where m.room_id = r.id and m.role = 'manager')""",
        _ENTER,
    ),
    Check(
        "private rooms",
        "each that nobody is in is archived",
        f"""select count(*) from rooms r where kind <> 'direct' and is_private = 1 and archived_at is null
           and {_COUNT} = 0""",  # noqa: S608
        "Of a channel: delete it, or enter it as an admin (GET /admin/channels shows it with memberCount 0). "
        "Groups and notes that nobody is in harm nobody.",
    ),
    Check(
        "members",
        "none of them was removed from the server",
        """select (select count(*) from memberships m join users u on u.id = m.user_id
             join rooms r on r.id = m.room_id where u.removed_at is not null and r.kind <> 'direct')
           + (select count(*) from departures d join users u on u.id = d.user_id
             where u.removed_at is not null)""",
        "They see nothing, but count as members. " + _REMOVE,
    ),
    Check(
        "members",
        "each joined at a change that their room has come to",
        """select count(*) from memberships m join rooms r on r.id = m.room_id
           where m.since_epoch > r.epoch""",
        "They are told of nothing that happens there. " + _REMOVE,
    ),
    Check(
        "members",
        "who has left is out, of a channel that everybody else is in",
        """select count(*) from departures d join rooms r on r.id = d.room_id where r.is_default = 0
           or exists (select 1 from memberships m where m.room_id = d.room_id and m.user_id = d.user_id)""",
        "Let them join the channel again, or leave it.",
    ),
    Check(
        "members",
        "what the first message is that they see can be read",
        """select (select count(*) from memberships where length(visible_from) not in (0, 32))
           + (select count(*) from rooms where length(public_from) not in (0, 32)
              or length(last_bound) not in (0, 32))""",
        "What they see is not what they should. " + _REMOVE,
    ),
    Check(
        "groups",
        f"each is of {MOST_IN_GROUP} people at most, and nobody manages one",
        f"""select count(*) from rooms r where kind in ('group', 'notes') and (
             {_COUNT} > {MOST_IN_GROUP}
             or exists (select 1 from memberships m where m.room_id = r.id and m.role <> 'member'))""",  # noqa: S608
        "Its people can make it a private channel, in which there may be more, and managers.",
    ),
    Check(
        "notes",
        "each is of one user, who has no others",
        f"""select (select count(*) from rooms r where kind = 'notes' and {_COUNT} > 1)
           + (select count(*) from (select m.user_id from memberships m join rooms r on r.id = m.room_id
              where r.kind = 'notes' group by m.user_id having count(*) > 1) twice)""",  # noqa: S608
    ),
)

_AHEAD = """select (select count(*) from memberships m join rooms r on r.id = m.room_id
  where m.visible_from > $1 and substr(m.visible_from, 1, 12) > substr(r.last_bound, 1, 12)
  and not exists (select 1 from messages s
    where s.room_id = r.id and s.parent_id is null and s.id >= m.visible_from))
+ (select count(*) from rooms r where r.public_from > $1
  and substr(r.public_from, 1, 12) > substr(r.last_bound, 1, 12) and not exists (
    select 1 from messages s where s.room_id = r.id and s.parent_id is null and s.id >= r.public_from))"""


async def bounds_are_reached(tx: Transaction) -> Finding:
    """Look for members who don't see what is said now: whose first message is one that is to come.

    A bound may well be later than all that is left in the room, and it may be ahead of this clock by as much
    as the room's newest message was; posting goes on after `last_bound`.
    """
    [(offenders,)] = await tx.fetch(_AHEAD, f"{now_ms():012x}".ljust(32, "0"))
    if offenders:
        return problem(
            "members",
            f"in {offenders} cases somebody does not see what is said now, but what will be said later",
            "Look at the clocks of all servers. " + _REMOVE,
        )
    return ok("members", "all see what is said from now on")
