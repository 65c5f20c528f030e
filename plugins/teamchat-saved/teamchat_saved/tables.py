"""The table of what users keep: one row a user and message. It goes with the message, and with the user."""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            """create table saved (user_id text not null references users(id) on delete cascade,
               message_id text not null references messages(id) on delete cascade,
               room_id text not null references rooms(id) on delete cascade, note text not null,
               saved_at {int} not null, remind_at {int}, is_reminded {int} not null,
               primary key (user_id, message_id)){table_end}""",
            "create index saved_by_user on saved(user_id, saved_at, message_id)",
            "create index saved_by_message on saved(message_id)",
            "create index saved_by_room on saved(room_id)",
            "create index saved_due on saved(remind_at) where remind_at is not null and is_reminded = 0",
        ),
    ),
)

CHECKS = (
    Check(
        "saved",
        "nobody was reminded of what had no time",
        "select count(*) from saved where is_reminded = 1 and remind_at is null",
    ),
)
