"""The table of thread states: who follows which thread, and up to which reply they have read it.

There is a row for everybody who ever followed a thread or marked it, and none for those who might. It is
removed with the message that the thread is about.
"""

from teamchat.capabilities import Check
from teamchat.chat.sight import FIRST_SEEN
from teamchat.storage.schema import Migration

MEMBER = """(mine.user_id is not null or (r.is_default = 1 and not exists
(select 1 from departures d where d.room_id = r.id and d.user_id = w.user_id)))"""
"""Whether the user of the row `w` is a member of the room `r`; `mine` is their membership, or null."""

# What is older than this capability counts as read (D-4), and people have a part in its threads all the same:
# who has replied waits for answers, who is replied to wants to know.  So both follow, and nothing is unread.
# Two indexes are read through once, and only threads cost anything: 100,000 messages are a second at most.
_UPGRADE = f"""insert into threads_states
(user_id, message_id, room_id, position, generation, is_marked, is_following, is_ended)
select w.user_id, p.id, p.room_id, (select max(x.id) from messages x where x.parent_id = p.id), 0, 0, 1, 0
from (select author_id as user_id, parent_id from messages where parent_id is not null
  union select m.author_id, m.id from messages m join threads t on t.parent_id = m.id) w
join users u on u.id = w.user_id and u.removed_at is null
join messages p on p.id = w.parent_id
join rooms r on r.id = p.room_id
left join memberships mine on mine.room_id = r.id and mine.user_id = w.user_id
where {MEMBER} and p.id >= {FIRST_SEEN}
and exists (select 1 from messages x where x.parent_id = p.id)"""  # noqa: S608

# Who wrote the parent follows from the first reply on, who has replied from their own; of others nothing is
# known of the cause (a migration sees no other capability's tables), and what they have read is over.
_SINCE = """update threads_states set since = coalesce(
(select p.id from messages p where p.id = threads_states.message_id and p.author_id = threads_states.user_id),
(select min(x.id) from messages x where x.parent_id = threads_states.message_id
  and x.author_id = threads_states.user_id),
position)"""

MIGRATIONS = (
    Migration(
        1,
        (
            # `is_ended`: the user has ended the follow, and only their own reply begins it again.
            """create table threads_states (user_id text not null references users(id) on delete cascade,
               message_id text not null references messages(id) on delete cascade,
               room_id text not null references rooms(id) on delete cascade, position text not null,
               generation {int} not null, is_marked {int} not null, is_following {int} not null,
               is_ended {int} not null, primary key (user_id, message_id)){table_end}""",
            "create index threads_states_by_message on threads_states(message_id)",
            "create index threads_states_by_room on threads_states(room_id, user_id)",
            _UPGRADE,
        ),
    ),
    Migration(
        2,
        (
            # What came later than `since` has come since the user follows it: the order of messages, as
            # `position` is, which reading moves and this one not.
            "alter table threads_states add column since text not null default ''",
            _SINCE,
        ),
    ),
)

CHECKS = (
    Check(
        "thread states",
        "each position is one in the order of messages",
        "select count(*) from threads_states where length(position) <> 32",
    ),
    Check(
        "thread states",
        "each is of a message that replies can stand under, in the room where that stands",
        """select count(*) from threads_states s join messages m on m.id = s.message_id
        where m.parent_id is not null or m.room_id <> s.room_id""",
    ),
    Check(
        "thread states",
        "nobody follows a thread whose following they have ended",
        "select count(*) from threads_states where is_following = 1 and is_ended = 1",
    ),
)
