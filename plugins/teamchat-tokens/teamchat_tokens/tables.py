"""The tables of tokens: a hash each, never the text, and which keys of requests have made one.

`scopes` and `places` are words with spaces between; no places is no limit. What has not expired by the clock
and has no row is over.
"""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            """create table tokens (id text primary key,
               user_id text not null references users(id) on delete cascade, hash text not null unique,
               name text not null, scopes text not null, places text, created_at {int} not null,
               created_by text not null, expires_at {int}, last_used_at {int}, ip text){table_end}""",
            "create index tokens_by_user on tokens(user_id, created_at)",
            """create table tokens_keys (user_id text not null, key text not null, created_at {int} not null,
               primary key (user_id, key)){table_end}""",
        ),
    ),
)

_HOW = "End them: teamchat user activate EMAIL, then teamchat user deactivate EMAIL, with tokens on."
CHECKS = (
    Check(
        "tokens",
        "each is of a user who may sign in",
        """select count(*) from tokens t join users u on u.id = t.user_id
           where u.removed_at is not null or u.deactivated_at is not null""",
        _HOW,
    ),
    Check(
        "tokens",
        "each was given by a user who may sign in",
        """select count(*) from tokens t where not exists (select 1 from users u
           where u.id = t.created_by and u.removed_at is null and u.deactivated_at is null)""",
        _HOW,
    ),
)
