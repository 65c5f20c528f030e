"""The tables of what notifies whom. A user who has chosen nothing has no row."""

from teamchat.capabilities import Check
from teamchat.storage.schema import Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # What a member has chosen for a place. `changed` is a number of the clock of read states.
            """create table notification_levels (user_id text not null references users(id) on delete cascade,
               room_id text not null references rooms(id) on delete cascade, level text not null,
               is_muted {int} not null, muted_until {int}, ignores_wide {int} not null,
               changed {int} not null, primary key (user_id, room_id)){table_end}""",
            "create index notification_levels_by_room on notification_levels(room_id)",
            # What a user has chosen for all their places; `quiet_hours` is JSON.
            """create table notification_levels_settings (user_id text primary key
               references users(id) on delete cascade, of_channels text not null, of_groups text not null,
               of_direct text not null, of_threads text not null, quiet_hours text, paused_until {int},
               preview text not null){table_end}""",
            # `since` is when the keyword was set, in epoch milliseconds; `place` orders a user's own.
            """create table notification_levels_keywords (user_id text not null
               references users(id) on delete cascade, keyword_key text not null, keyword text not null,
               place {int} not null, since {int} not null, primary key (user_id, keyword_key)){table_end}""",
            # Whose messages come through while all others are held back.
            """create table notification_levels_urgent (user_id text not null
               references users(id) on delete cascade, other_id text not null
               references users(id) on delete cascade, place {int} not null,
               primary key (user_id, other_id)){table_end}""",
            "create index notification_levels_urgent_by_other on notification_levels_urgent(other_id)",
            # `keywords` grows whenever anybody's keywords change, so that who keeps them in memory knows.
            """create table notification_levels_versions (id {int} primary key,
               keywords {int} not null){table_end}""",
            "insert into notification_levels_versions (id, keywords) values (1, 0)",
        ),
    ),
    Migration(
        2,
        (
            # Whether others are told that one is there, and that one types.
            "alter table notification_levels_settings add column shares_presence {int} not null default 1",
            "alter table notification_levels_settings add column shares_typing {int} not null default 1",
        ),
    ),
)

CHECKS = (
    Check(
        "notification levels",
        "each is one that there is",
        """select count(*) from notification_levels
        where level not in ('default', 'all', 'mentions', 'nothing')""",
    ),
    Check(
        "notification levels",
        "nothing is muted until a time without being muted",
        "select count(*) from notification_levels where is_muted = 0 and muted_until is not null",
    ),
    Check(
        "notification keywords",
        "nobody has more than 20",
        """select count(*) from (select 1 from notification_levels_keywords
        group by user_id having count(*) > 20) crowded""",
    ),
)
