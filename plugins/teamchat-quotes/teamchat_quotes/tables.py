"""The table of quotes: of a message that quotes another the id of that one, and nothing of what it says.

What is quoted may be gone: the row stays as long as the message that quotes it, and shows nothing then.
"""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # Without `quoted_room` what was quoted is gone.
            """create table quotes (message_id text primary key references messages(id) on delete cascade,
               room_id text not null, quoted_id text not null, quoted_room text){table_end}""",
            "create index quotes_by_quoted on quotes(quoted_id)",
            "create index quotes_by_quoted_room on quotes(quoted_room)",
        ),
    ),
)

CHECKS = (
    Check(
        "quotes",
        "no message quotes itself",
        "select count(*) from quotes where quoted_id = message_id",
    ),
)
