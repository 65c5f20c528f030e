"""The tables of profiles: they go with the user.

A picture is kept in three sizes, as Base64, so that backups, moves and checks take it along like any row.
"""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # When the user was last told of, and when they have to be: because something changed too soon
            # after that, or because their status ends.
            """create table profiles (user_id text primary key references users(id) on delete cascade,
               full_name text not null default '', title text not null default '',
               pronouns text not null default '', timezone text not null default '',
               locale text not null default '', avatar_version text not null default '',
               status_emoji text not null default '', status_text text not null default '',
               status_until {int}, told_at {int} not null default 0, due_at {int}){table_end}""",
            "create index profiles_due on profiles(due_at) where due_at is not null",
            """create table profiles_avatars (user_id text not null references users(id) on delete cascade,
               size {int} not null, data text not null, primary key (user_id, size)){table_end}""",
        ),
    ),
)

CHECKS = (
    Check(
        "profiles",
        "each picture is there in three sizes, or in none",
        """select count(*) from profiles p where (select count(*) from profiles_avatars a
           where a.user_id = p.user_id) <> case when p.avatar_version = '' then 0 else 3 end""",
        "Take it away: DELETE /me/avatar, by whose it is.",
    ),
)
