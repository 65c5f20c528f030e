"""The tables of bots. That an account is one stands at the user (`is_bot`); here is what it takes besides."""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # The owner may be gone; then admins alone look after the bot.
            """create table bots (user_id text primary key references users(id) on delete cascade,
               owner_id text not null){table_end}""",
            "create index bots_by_owner on bots(owner_id)",
            # When a bot will have had its pause for all that it has posted: see rate.py.
            """create table bots_rates (user_id text primary key references users(id) on delete cascade,
               free_at {int} not null){table_end}""",
            """create table bots_keys (user_id text not null, key text not null, user_name text not null,
               bot_id text not null, created_at {int} not null, primary key (user_id, key)){table_end}""",
        ),
    ),
    Migration(
        2,
        (
            # Keys of requests are the server's to keep.
            """insert into keyed_requests (user_id, scope, key, request_hash, made, created_at)
               select user_id, 'bots', key, '', bot_id, created_at from bots_keys""",
            "drop table bots_keys",
        ),
    ),
)

CHECKS = (
    Check(
        "bots",
        "each is an account that is a bot's, and is there",
        """select count(*) from bots b join users u on u.id = b.user_id
           where u.is_bot = 0 or u.removed_at is not null""",
    ),
)
