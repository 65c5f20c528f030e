"""The table of revisions: one row for each text that a message had before. They go with their message."""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # A text that stood from `set_at` to `ended_at`. Without content it was dropped, or the row only
            # says since when the present text stands. `entities` is JSON.
            """create table edit_history (message_id text not null references messages(id) on delete cascade,
               room_id text not null references rooms(id) on delete cascade, author_id text not null,
               number {int} not null, content text, entities text, set_at {int} not null,
               ended_at {int} not null, primary key (message_id, number)){table_end}""",
            "create index edit_history_by_room on edit_history(room_id)",
            "create index edit_history_by_author on edit_history(author_id)",
        ),
    ),
)

CHECKS = (
    Check(
        "edit-history",
        "of a revision that was dropped nothing is kept",
        "select count(*) from edit_history where content is null and entities is not null",
    ),
)
