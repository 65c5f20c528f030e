"""The table of entities: one row for each message that has some. Read states know whom a message reaches."""

from teamchat.capabilities import Check
from teamchat.chat.sight import GONE
from teamchat.storage.schema import Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # `entities` is JSON, as it is sent.
            """create table mentions (message_id text primary key references messages(id) on delete cascade,
               entities text not null){table_end}""",
        ),
    ),
)

CHECKS = (
    Check(
        "mentions",
        "whoever a message reaches is reached where it stands",
        f"""select count(*) from read_state_mentions w join messages m on m.id = w.message_id
        where (m.room_id <> w.room_id or coalesce(m.parent_id, '') <> coalesce(w.parent_id, ''))
        and m.room_id not in ({GONE})""",  # noqa: S608
    ),
    Check(
        "mentions",
        "nobody is reached by a message of their own",
        """select count(*) from read_state_mentions w join messages m on m.id = w.message_id
        where m.author_id = w.user_id""",
    ),
)
