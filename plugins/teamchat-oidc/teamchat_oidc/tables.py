"""Which sessions were begun at which provider, and which of its logouts were heard already.

A row of the first without a session is of somebody who was asked for more before it began.  A row goes when
its session is ended, within an hour of when that has expired, and with its user.  Of a logout token's id a
hash is kept.
"""

from teamchat import Migration

MIGRATIONS = (
    Migration(
        1,
        (
            """create table oidc_sessions (id text not null primary key, provider text not null,
               subject text not null, sid text not null,
               user_id text not null references users(id) on delete cascade,
               session_id text, created_at {int} not null)
               {table_end}""",
            "create index oidc_sessions_by_subject on oidc_sessions(provider, subject)",
            "create index oidc_sessions_by_user on oidc_sessions(user_id)",
            "create index oidc_sessions_by_session on oidc_sessions(session_id)",
            """create table oidc_logouts (provider text not null, token_hash text not null,
               subject text not null, sid text not null, issued_at {int} not null, heard_at {int} not null,
               primary key (provider, token_hash)){table_end}""",
            "create index oidc_logouts_by_time on oidc_logouts(heard_at)",
        ),
    ),
)
