"""The tables of Web Push: the server's keys, who wants pushes where, and what is to be sent.

No row holds a text: what a push says is read from the message when it is sent.
"""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # The key pair by which push services know this server (VAPID); one row.
            """create table web_push_keys (id {int} primary key, private_key text not null,
               made_at {int} not null){table_end}""",
            # `session_id` may be that of a session that has expired; `left_at` is when that was noticed.
            """create table web_push_subscriptions (id text primary key, user_id text not null
               references users(id) on delete cascade, session_id text not null, endpoint text not null,
               endpoint_hash text not null unique, host text not null, p256dh text not null,
               auth text not null, device_name text not null, language text not null,
               created_at {int} not null, last_sent_at {int}, last_error text, left_at {int}){table_end}""",
            "create index web_push_subscriptions_by_user on web_push_subscriptions(user_id, created_at)",
            "create index web_push_subscriptions_by_session on web_push_subscriptions(session_id)",
            # What is to be sent to which device, and what became of it. `reached` is the message's id, or
            # that of what made it worth a push later. `since` is when that was; of what was held, the end of
            # the quiet. Without an `outcome` it waits for `due_at`. Times are epoch milliseconds.
            """create table web_push_queue (message_id text not null
               references messages(id) on delete cascade, subscription_id text not null
               references web_push_subscriptions(id) on delete cascade, reached text not null,
               user_id text not null, kind text not null, since {int} not null, due_at {int} not null,
               tries {int} not null default 0, is_delayed {int} not null default 0,
               is_held {int} not null default 0, is_bare {int} not null default 0,
               outcome text, reason text not null default '', decided_at {int},
               primary key (message_id, subscription_id, reached)){table_end}""",
            "create index web_push_queue_due on web_push_queue(due_at) where outcome is null",
            "create index web_push_queue_by_subscription on web_push_queue(subscription_id)",
            "create index web_push_queue_by_age on web_push_queue(decided_at) where outcome is not null",
        ),
    ),
    Migration(
        2,
        (
            # The Idempotency-Keys of a day, with what was asked and the subscription that was made.
            """create table web_push_requests (user_id text not null references users(id) on delete cascade,
               key text not null, request_hash text not null, subscription_id text not null,
               created_at {int} not null, primary key (user_id, key)){table_end}""",
            "create index web_push_requests_by_age on web_push_requests(created_at)",
        ),
    ),
    Migration(
        3,
        (
            # They are the server's to keep.
            """insert into keyed_requests (user_id, scope, key, request_hash, made, created_at)
               select user_id, 'web-push', key, request_hash, subscription_id, created_at
               from web_push_requests""",
            "drop table web_push_requests",
        ),
    ),
)

CHECKS = (
    Check(
        "pushes",
        "what was decided has a time",
        "select count(*) from web_push_queue where outcome is not null and decided_at is null",
    ),
    Check(
        "push subscriptions",
        "push services take this server's key",
        "select count(*) from web_push_subscriptions where last_error like '401%' or last_error like '403%'",
        remedy="Their devices get nothing. If the keys were lost (another backup was restored), people have "
        "to turn notices off and on; if push.contact was changed, look whether it is an address of yours.",
        is_warning=True,
    ),
)
