"""The tables of read states: only positions, never a count (extension D).

`changed` numbers come from one clock that grows with every change, in the order of commits, so that what has
changed since an answer can be found by its number.
"""

from teamchat.capabilities import Check
from teamchat.storage.schema import Migration

BEGINNING = "0" * 32
"""The position before every message."""
COUNTED_UP_TO = 1000
"""A count that has reached this means "at least"."""

NEWEST = """(select m.id from messages m where m.room_id = r.id and m.parent_id is null
order by m.id desc limit 1)"""
"""The newest top-level message of the room `r`."""


def is_stray(table: str) -> str:
    """Return the condition that a row of `table` (`user_id`, `room_id`) is of who is not in that room."""
    return f"""not exists (select 1 from memberships m
  where m.room_id = {table}.room_id and m.user_id = {table}.user_id)
and not exists (select 1 from rooms r where r.id = {table}.room_id and r.is_default = 1
  and not exists (select 1 from departures d where d.room_id = r.id and d.user_id = {table}.user_id))"""  # noqa: S608


_MENTIONED = (
    # `reached` is when, in the form of an id; `cause` is ``user``, ``keyword`` or ``both``. `told` is 0
    # until the user was told of it, 1 since then, and 2 if they were told that it is gone.
    """create table read_state_mentions (user_id text not null references users(id) on delete cascade,
       room_id text not null references rooms(id) on delete cascade,
       message_id text not null references messages(id) on delete cascade, parent_id text,
       cause text not null, reached text not null, is_there {int} not null,
       told {int} not null default 0,
       primary key (user_id, room_id, message_id)){table_end}""",
    "create index read_state_mentions_by_message on read_state_mentions(message_id)",
    """create index read_state_mentions_by_thread on read_state_mentions(user_id, parent_id, message_id)
       where parent_id is not null""",
    "create index read_state_mentions_by_time on read_state_mentions(user_id, reached)",
    """create table read_state_wide (message_id text primary key references messages(id) on delete cascade,
       room_id text not null references rooms(id) on delete cascade, parent_id text,
       author_id text not null, reached text not null, is_there {int} not null,
       told {int} not null default 0){table_end}""",
    "create index read_state_wide_by_time on read_state_wide(reached)",
    "create index read_state_wide_by_room on read_state_wide(room_id, message_id)",
    """create index read_state_wide_by_thread on read_state_wide(parent_id, message_id)
       where parent_id is not null""",
)

MIGRATIONS = (
    Migration(
        1,
        (
            # Where a member has read to, from the first time that they did, or joined.
            """create table read_state (user_id text not null references users(id) on delete cascade,
               room_id text not null references rooms(id) on delete cascade, position text not null,
               generation {int} not null, is_marked {int} not null, changed {int} not null,
               primary key (user_id, room_id)){table_end}""",
            "create index read_state_by_room on read_state(room_id)",
            # Where members without a row begin: those who were in the room at `first_epoch` at `base`, who
            # is in it by default at `default_base`. Who joins has a generation of `next_generation` at least,
            # for that has grown whenever others ceased to be members by default.
            """create table read_state_rooms (room_id text primary key references rooms(id) on delete cascade,
               base text not null, default_base text not null, first_epoch {int} not null,
               next_generation {int} not null default 0, changed {int} not null){table_end}""",
            # Who is no member any more of which room, which may be gone. Without a user: all who were members
            # by default.
            """create table read_state_left (user_id text not null, room_id text not null,
               generation {int} not null, changed {int} not null, left_at {int} not null,
               primary key (user_id, room_id)){table_end}""",
            "create table read_state_clock (id {int} primary key, changes {int} not null){table_end}",
            "insert into read_state_clock (id, changes) values (1, 0)",
            # Whatever is older than this capability counts as read for everyone.
            f"""insert into read_state_rooms (room_id, base, default_base, first_epoch, changed)
               select r.id, coalesce({NEWEST}, '{BEGINNING}'), coalesce({NEWEST}, '{BEGINNING}'), r.epoch, 0
               from rooms r""",  # noqa: S608
        ),
    ),
    Migration(2, _MENTIONED),
    # Where the membership began, as far as that is known apart: what was said to all before was not for them.
    Migration(3, ("alter table read_state add column began text",)),
    # Who was a member, with a row, of a room that is gone: their ids, a JSON array. They may be thousands.
    Migration(
        4,
        (
            """create table read_state_gone (room_id text primary key, changed {int} not null,
               left_at {int} not null, members text not null){table_end}""",
            "create index read_state_gone_by_change on read_state_gone(changed)",
        ),
    ),
)

CHECKS = (
    Check(
        "read states",
        "each position is one in the order of messages",
        "select count(*) from read_state where length(position) <> 32",
    ),
)
