"""The tables of second factors: they go with the user."""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # `secret` is sealed. Without `confirmed_at` no code of it was seen, and it counts for nothing.
            # `last_step` is that of the last code that was good: no earlier one, nor this one, is again.
            """create table second_factor_totp (id text primary key, user_id text not null
               references users(id) on delete cascade, secret text not null, created_at {int} not null,
               confirmed_at {int}, last_used_at {int}, last_step {int} not null default 0){table_end}""",
            "create index second_factor_totp_by_user on second_factor_totp(user_id, created_at)",
            """create table second_factor_recovery (user_id text not null references users(id)
               on delete cascade, code_hash text not null, primary key (user_id, code_hash)){table_end}""",
        ),
    ),
    Migration(
        2,
        (
            # Under which keys of requests a secret was made, which is shown once.
            """create table second_factor_keys (user_id text not null references users(id) on delete cascade,
               key text not null, created_at {int} not null, primary key (user_id, key)){table_end}""",
        ),
    ),
    Migration(
        3,
        (
            # Keys of requests are the server's to keep.
            """insert into keyed_requests (user_id, scope, key, request_hash, made, created_at)
               select user_id, 'second-factor', key, '', '', created_at from second_factor_keys""",
            "drop table second_factor_keys",
        ),
    ),
)

CHECKS = (
    Check(
        "second factors",
        "recovery codes are of users who have a second factor",
        """select count(*) from second_factor_recovery r where not exists (select 1 from second_factor_totp t
           where t.user_id = r.user_id and t.confirmed_at is not null)""",
    ),
)
