"""The table of pins: one row a pinned message. It goes with its message, and with its room."""

from teamchat import Check, Migration

MOST_PINS = 100
"""How many pins a place has at most, of those that one sees."""
MIGRATIONS = (
    Migration(
        1,
        (
            # `number` counts the pins of a room in their order, for two may have the same time.
            """create table pins (message_id text primary key references messages(id) on delete cascade,
               room_id text not null references rooms(id) on delete cascade, number {int} not null,
               pinned_by text not null, pinned_at {int} not null){table_end}""",
            "create index pins_by_room on pins(room_id, number)",
        ),
    ),
)

CHECKS = (
    Check(
        "pins",
        "the pins of a place are in one order",
        "select count(*) from (select 1 from pins group by room_id, number having count(*) > 1) twice",
    ),
)
