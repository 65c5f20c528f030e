"""The table of tokens: a hash each, never the text.

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
    Migration(
        2,
        (
            # 1 for one that only an admin could give, who is to be one still: it is good no longer else.
            "alter table tokens add column wants_admin {int} not null default 0",
            """update tokens set wants_admin = 1 where ' ' || scopes || ' ' like '% admin %' or
               user_id <> created_by and exists (select 1 from users u where u.id = created_by
               and u.is_admin = 1)""",
        ),
    ),
    Migration(
        3,
        (
            # Keys of requests are the server's to keep.
            """insert into keyed_requests (user_id, scope, key, request_hash, made, created_at)
               select user_id, 'tokens', key, '', '', created_at from tokens_keys""",
            "drop table tokens_keys",
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
    Check(
        "tokens",
        "each that only an admin could give was given by one who is",
        """select count(*) from tokens t where t.wants_admin = 1 and exists (select 1 from users u
           where u.id = t.created_by and u.is_admin = 0 and u.removed_at is null)""",
        "They are refused. Revoke them; or teamchat user promote EMAIL, then demote EMAIL, with tokens on.",
    ),
)
