"""The table of presence: a row for who has chosen a status, or was there."""

from __future__ import annotations

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # `seen_at` is in epoch milliseconds, and may be some minutes behind while somebody is there.
            """create table presence (user_id text primary key references users(id) on delete cascade,
               status text not null, seen_at {int}){table_end}""",
        ),
    ),
)

CHECKS = (
    Check(
        "presence",
        "each chosen status is one that there is",
        "select count(*) from presence where status not in ('auto', 'away', 'offline')",
    ),
)
