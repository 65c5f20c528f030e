"""The tables of the feed: how far everybody has read it, reactions with their times, and reminders.

Everything else is worked out from what is stored anyway.
"""

from teamchat.capabilities import Check
from teamchat.storage.schema import Migration

KEPT_MS = 90 * 24 * 3600 * 1000
"""For so long an item is told."""

MIGRATIONS = (
    Migration(
        1,
        (
            """create table activity_read (user_id text primary key references users(id) on delete cascade,
               position text not null, generation {int} not null){table_end}""",
            # A reaction of `user_id` to a message of `author_id`; `reached` is when, in the form of an id.
            """create table activity_reactions (message_id text not null
               references messages(id) on delete cascade, user_id text not null
               references users(id) on delete cascade, reaction text not null, author_id text not null
               references users(id) on delete cascade, reached text not null,
               primary key (message_id, user_id, reaction)){table_end}""",
            # What is older than this capability counts as read for everyone.
            "create table activity_start (id {int} primary key, position text not null){table_end}",
            """insert into activity_start (id, position)
               select 1, coalesce((select max(id) from messages), '00000000000000000000000000000000')""",
            "create index activity_reactions_by_author on activity_reactions(author_id, reached)",
            "create index activity_reactions_by_user on activity_reactions(user_id)",
        ),
    ),
    Migration(
        2,
        (
            # Of what a user was reminded last; `reached` is when, in the form of an id.
            """create table activity_reminders (user_id text not null references users(id) on delete cascade,
               message_id text not null references messages(id) on delete cascade, reached text not null,
               primary key (user_id, message_id)){table_end}""",
            "create index activity_reminders_by_user on activity_reminders(user_id, reached)",
            "create index activity_reminders_by_message on activity_reminders(message_id)",
            "create index activity_reminders_by_time on activity_reminders(reached)",
        ),
    ),
)

CHECKS = (
    Check(
        "activity",
        "each reaction that is noted stands at its message",
        """select count(*) from activity_reactions a where not exists (select 1 from reactions r
        where r.message_id = a.message_id and r.user_id = a.user_id and r.reaction = a.reaction)""",
    ),
)
