"""The tables, as numbered migrations in the SQL that SQLite and PostgreSQL share.

``{int}`` is a 64-bit integer, ``{log_key}`` a key that grows by itself and is never used twice,
``{table_end}`` what a storage puts after a table's definition. Text is stored as given; columns that end in
``_key`` have the folded form (`teamchat.model.text.fold`), which makes them unique ignoring case. Tables that
belong to a message or a channel as a whole are emptied by the code that deletes it, in its transaction. A
released migration is never changed; add the next number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Migration(NamedTuple):
    """One step of the schema: run once, in a transaction of its own.

    `moved` names tables that go, each with the one that has its rows from then on.
    """

    number: int
    statements: tuple[str, ...]
    moved: Mapping[str, str] = {}


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        (
            # A removed user stays as a row without email, password and name key: messages keep their author.
            """create table users (id text primary key, user_name text not null, user_name_key text unique,
               email text not null, email_key text unique, is_admin {int} not null, password_hash text,
               created_at {int} not null, removed_at {int}){table_end}""",
            """create table sessions (id text primary key, user_id text not null references users(id),
               created_at {int} not null, last_used_at {int} not null, expires_at {int} not null,
               ends_at {int} not null, ip text not null, user_agent text not null){table_end}""",
            "create index sessions_by_user on sessions(user_id, created_at)",
            """create table refresh_tokens (token_hash text primary key,
               session_id text not null references sessions(id) on delete cascade,
               expires_at {int} not null, used_at {int}){table_end}""",
            "create index refresh_tokens_by_session on refresh_tokens(session_id)",
            """create table attempts (subject text primary key, window_start {int} not null,
               failures {int} not null){table_end}""",
            """create table channels (id text primary key, name text not null, name_key text not null unique,
               created_at {int} not null, updated_at {int}, created_by text not null){table_end}""",
            """create table conversations (id text primary key, first_user text not null references users(id),
               second_user text not null references users(id), created_at {int} not null,
               last_message_at {int}, unique (first_user, second_user)){table_end}""",
            "create index conversations_by_second on conversations(second_user)",
            # place_id is a channel's or a conversation's id; parent_id the message a reply stands under.
            # is_decorated is 1 once a message had a reaction or an image: a page asks for those of no other.
            """create table messages (id text primary key, place_id text not null,
               parent_id text references messages(id), author_id text not null, bot_name text,
               content text not null, created_at {int} not null, updated_at {int},
               is_decorated {int} not null default 0){table_end}""",
            "create index messages_by_place on messages(place_id, id) where parent_id is null",
            "create index messages_by_parent on messages(parent_id, id) where parent_id is not null",
            """create table threads (parent_id text primary key references messages(id),
               reply_count {int} not null, last_reply_at {int} not null, last_reply_by text not null,
               participants text not null){table_end}""",
            """create table reactions (message_id text not null references messages(id),
               reaction text not null, user_id text not null, place {int} not null,
               primary key (message_id, reaction, user_id)){table_end}""",
            """create table images (filename text primary key, place_id text not null,
               uploaded_by text not null, created_at {int} not null, media_type text not null,
               size {int} not null, thumbnail_type text, thumbnail_size {int}){table_end}""",
            "create index images_by_place on images(place_id)",
            "create index images_by_age on images(created_at)",
            """create table message_images (message_id text not null references messages(id),
               place {int} not null, filename text not null references images(filename),
               primary key (message_id, place)){table_end}""",
            "create index message_images_by_name on message_images(filename)",
            # Bytes to remove from the image store once the transaction that forgot them has committed.
            "create table doomed_images (key text primary key){table_end}",
            """create table webhooks (id text primary key, name text not null,
               channel_id text not null references channels(id), token_hash text not null unique,
               created_at {int} not null, created_by text not null){table_end}""",
            "create index webhooks_by_channel on webhooks(channel_id)",
            "create table server_settings (name text primary key, value text not null){table_end}",
            """create table idempotency_keys (user_id text not null, key text not null,
               request_hash text not null, message_id text not null, created_at {int} not null,
               primary key (user_id, key)){table_end}""",
            "create index idempotency_keys_by_age on idempotency_keys(created_at)",
            """create table events (seq {log_key}, type text not null, audience text, payload text not null,
               created_at {int} not null){table_end}""",
            "create index events_by_age on events(created_at)",
        ),
    ),
    Migration(
        2,
        (
            # One-time links. The token itself is nowhere: it is worked out from the id and a secret of the
            # server's when the mail is written. A purpose and an email have one link at most.
            """create table links (id text primary key, purpose text not null, email_key text not null,
               email text not null, token_hash text not null unique, created_at {int} not null,
               expires_at {int} not null, unique (purpose, email_key)){table_end}""",
            "create index links_by_age on links(expires_at)",
            # Mails to be sent, one for each link; they go with it. A decoy is a mail to nobody: the same work
            # for an email without an account.
            """create table mails (link_id text primary key references links(id) on delete cascade,
               is_decoy {int} not null, due_at {int} not null, tries {int} not null default 0,
               refusals {int} not null default 0){table_end}""",
            "create index mails_by_time on mails(due_at)",
            # OAuth: sign-ins under way, and who is who at which provider.
            """create table oauth_states (state_hash text primary key, provider text not null,
               network text not null, browser_hash text not null, created_at {int} not null){table_end}""",
            "create index oauth_states_by_age on oauth_states(created_at)",
            """create table identities (provider text not null, subject text not null,
               user_id text not null references users(id), created_at {int} not null,
               primary key (provider, subject)){table_end}""",
            "create index identities_by_user on identities(user_id)",
        ),
    ),
    Migration(
        3,
        (
            # The processes that serve this storage. One whose beats stand still has died.
            """create table members (id text primary key, joined_at {int} not null,
               beats {int} not null){table_end}""",
            # What all of them must agree on: the signing secret, the place of the images.
            "create table marks (name text primary key, value text not null){table_end}",
            # Open event streams, while there is more than one process.
            """create table streams (member_id text not null references members(id) on delete cascade,
               number {int} not null, user_id text not null, opened_at {int} not null,
               primary key (member_id, number)){table_end}""",
            "create index streams_by_user on streams(user_id)",
            # How much of the limit on requests (server.rateLimit) was handed to processes, by client network.
            """create table request_windows (network text primary key, window_start {int} not null,
               taken {int} not null){table_end}""",
            "create index request_windows_by_age on request_windows(window_start)",
        ),
    ),
    Migration(
        4,
        (
            # How far plugins' listeners have heard the log, and which process serves each of them until when.
            """create table listeners (name text primary key, position {int} not null, holder text not null,
               held_until {int} not null){table_end}""",
        ),
    ),
    Migration(
        5,
        (
            # 1 while the password is one that an admin set, and while a session was begun with such a one
            # where it must be changed (decision D-43).
            "alter table users add column password_from_admin {int} not null default 0",
            "alter table sessions add column must_change_password {int} not null default 0",
        ),
    ),
    Migration(
        6,
        (
            # Who asked for a mail (network:<address>, user:<id>, nothing for the operator), for turns.
            "alter table mails add column requester text not null default ''",
        ),
    ),
    Migration(
        7,
        (
            # When it was first proved that the email is theirs (decision D-40). Null as long as nobody has,
            # 0 where nobody knows: those users were there before this was kept.
            "alter table users add column email_proved_at {int}",
            "update users set email_proved_at = 0",
        ),
    ),
    Migration(
        8,
        (
            # Whose text an event's payload carries, as long as it does: the message may be deleted or edited.
            "alter table events add column text_place text",
            "alter table events add column text_message text",
            # What was logged before begins with the ids, whose length never differs.
            """update events set text_message = substr(payload, 8, 32),
               text_place = substr(payload, 55, case when substr(payload, 55, 3) = 'dm:' then 35 else 32 end)
               where type in ('NEW_MESSAGE', 'UPDATE_MESSAGE', 'UPDATE_THREAD_REPLY',
                 'NEW_DM_MESSAGE', 'UPDATE_DM_MESSAGE')""",
            """update events set text_message = substr(payload, 117, 32), text_place = substr(payload, 68, 32)
               where type = 'NEW_THREAD_REPLY'""",
            "create index events_by_text on events(text_place, text_message) where text_place is not null",
            # Where the log ended when the account was made: nobody resumes from before.
            "alter table users add column log_start {int} not null default 0",
            """update users set log_start = (select coalesce(max(seq), 0) from events
                 where events.created_at < users.created_at)
               where created_at > (select min(created_at) from events)""",
        ),
    ),
    Migration(
        9,
        (
            # By what names of users are compared that look alike (decision D-41). A user whose
            # `skeletons_version` is not that of `accounts/names.py` has them written before the next name is
            # given; two users whose names were alike before keep them.
            """create table name_skeletons (user_id text not null references users(id),
               skeleton text not null, primary key (user_id, skeleton)){table_end}""",
            "create index name_skeletons_by_skeleton on name_skeletons(skeleton)",
            "alter table users add column skeletons_version {int} not null default 0",
            "create index users_by_skeletons_version on users(skeletons_version)",
        ),
    ),
    Migration(
        10,
        (
            # What messages stand in. A channel has a name that no other has; of a direct conversation
            # `pair_key` is its two members' ids in order, so that two users have one at most. `epoch` counts
            # the changes of its members and its privacy.
            """create table rooms (id text primary key, kind text not null, name text, name_key text unique,
               pair_key text unique, is_private {int} not null default 0, epoch {int} not null default 0,
               created_at {int} not null, created_by text not null default '', updated_at {int},
               last_message_at {int}){table_end}""",
            # Who is in a room, since which epoch. Everybody sees one that is not private, without a row.
            """create table memberships (room_id text not null references rooms(id),
               user_id text not null references users(id), joined_at {int} not null,
               since_epoch {int} not null default 0, primary key (room_id, user_id)){table_end}""",
            "create index memberships_by_user on memberships(user_id)",
            """insert into rooms (id, kind, name, name_key, created_at, created_by, updated_at)
               select id, 'channel', name, name_key, created_at, created_by, updated_at from channels""",
            """insert into rooms (id, kind, pair_key, is_private, created_at, last_message_at)
               select id, 'direct', first_user || ' ' || second_user, 1, created_at, last_message_at
               from conversations""",
            """insert into memberships (room_id, user_id, joined_at)
               select id, first_user, created_at from conversations""",
            """insert into memberships (room_id, user_id, joined_at)
               select id, second_user, created_at from conversations""",
            # A table's references can't be altered on SQLite.
            """create table room_webhooks (id text primary key, name text not null,
               channel_id text not null references rooms(id), token_hash text not null unique,
               created_at {int} not null, created_by text not null){table_end}""",
            """insert into room_webhooks (id, name, channel_id, token_hash, created_at, created_by)
               select id, name, channel_id, token_hash, created_at, created_by from webhooks""",
            "drop table webhooks",
            "alter table room_webhooks rename to webhooks",
            "create index webhooks_by_channel on webhooks(channel_id)",
            "drop table conversations",
            "drop table channels",
            "alter table messages rename column place_id to room_id",
            "alter table images rename column place_id to room_id",
            "alter table events rename column text_place to text_room",
        ),
        moved={"channels": "rooms", "conversations": "rooms"},
    ),
    Migration(
        11,
        (
            # Which migrations of capabilities were run, and the statements of each that define tables, as a
            # JSON array. Their tables refer to rows of messages, rooms and users, and go with them: who makes
            # one of these three anew has to see to that.
            """create table capability_migrations (namespace text not null, number {int} not null,
               definitions text not null, primary key (namespace, number)){table_end}""",
        ),
    ),
    Migration(
        12,
        (
            # What channels have besides. `post_policy` and `invite_policy` say who posts and who adds
            # members, `history_for` whether those who join see what was before. Who is no member sees
            # nothing of before the message `public_from`, though the channel is public. Whatever is posted
            # from now on has a greater id than `last_bound`.
            "alter table rooms add column topic text not null default ''",
            "alter table rooms add column description text not null default ''",
            "alter table rooms add column is_default {int} not null default 0",
            "alter table rooms add column archived_at {int}",
            "alter table rooms add column post_policy text not null default 'everyone'",
            "alter table rooms add column invite_policy text not null default 'members'",
            "alter table rooms add column history_for text not null default 'all'",
            "alter table rooms add column public_from text not null default ''",
            "alter table rooms add column last_bound text not null default ''",
            "alter table memberships add column role text not null default 'member'",
            "alter table memberships add column added_by text",
            # A member sees nothing of what was said before this message, unless the channel is public.
            "alter table memberships add column visible_from text not null default ''",
            # Everybody is a member of a default channel, without a row, but who has left it.
            """create table departures (room_id text not null references rooms(id),
               user_id text not null references users(id), primary key (room_id, user_id)){table_end}""",
            "create index departures_by_user on departures(user_id)",
            # Deleted channels that were private: nobody is given what the log has of them.
            """create table closed_rooms (id text primary key, closed_at {int} not null){table_end}""",
            "update rooms set is_default = 1 where kind = 'channel' and is_private = 0",
            # Who has made a channel manages it.
            """insert into memberships (room_id, user_id, joined_at, role)
               select r.id, r.created_by, r.created_at, 'manager' from rooms r
               join users u on u.id = r.created_by and u.removed_at is null
               where r.kind = 'channel'
               and not exists (select 1 from memberships m where m.room_id = r.id)""",
        ),
    ),
    Migration(
        13,
        (
            # A channel that was a group becomes public without what was said in it.
            "alter table rooms add column was_group {int} not null default 0",
        ),
    ),
    Migration(
        14,
        (
            # What others have posted after a message is counted from this index alone.
            "drop index messages_by_place",
            """create index messages_by_place on messages(room_id, id, author_id)
               where parent_id is null""",
            "create index rooms_by_default on rooms(id) where is_default = 1",
        ),
    ),
    Migration(
        15,
        (
            # Whether what it posts may mention a whole channel.
            "alter table webhooks add column may_mention_all {int} not null default 0",
        ),
    ),
    Migration(
        16,
        (
            # What was answered beside what a request has made, as a JSON object; '' for nothing.
            "alter table idempotency_keys add column beside text not null default ''",
        ),
    ),
    Migration(
        17,
        (
            # Since when a user can't sign in: all that is theirs stays for when they are back (L-1).
            "alter table users add column deactivated_at {int}",
        ),
    ),
    Migration(
        18,
        (
            # Who did what, from where (L-4): rows are added, and removed when they are old. `details` is a
            # JSON object.
            """create table audit_entries (id text primary key, at {int} not null, actor_id text, ip text,
               action text not null, target_type text, target_id text, details text not null){table_end}""",
            "create index audit_entries_by_actor on audit_entries(actor_id, id)",
            "create index audit_entries_by_action on audit_entries(action, id)",
            "create index audit_entries_by_target on audit_entries(target_id, id)",
        ),
    ),
    Migration(
        19,
        (
            # Whether an account is a program's: it acts by tokens, and nobody signs in to it (K-2).
            "alter table users add column is_bot {int} not null default 0",
            "create index users_by_bot on users(id) where is_bot = 1",
        ),
    ),
    Migration(
        20,
        (
            # First proofs that wait for a second factor: each is good once, and ends with all sessions.
            """create table waiting_sign_ins (hash text primary key,
               user_id text not null references users(id) on delete cascade, is_proved {int} not null,
               expires_at {int} not null){table_end}""",
            "create index waiting_sign_ins_by_user on waiting_sign_ins(user_id)",
            "create index waiting_sign_ins_by_expiry on waiting_sign_ins(expires_at)",
        ),
    ),
    Migration(
        21,
        (
            # The Idempotency-Keys of a day: whose, of what `scope` (a capability, or the chat), and the id of
            # what was made. Without a hash any request under the key is taken for the same.
            """create table keyed_requests (user_id text not null, scope text not null, key text not null,
               request_hash text not null, made text not null, beside text not null default '',
               created_at {int} not null, primary key (user_id, scope, key)){table_end}""",
            """insert into keyed_requests (user_id, scope, key, request_hash, made, beside, created_at)
               select user_id, 'chat', key, request_hash, message_id, beside, created_at
               from idempotency_keys""",
            "drop table idempotency_keys",
            "create index keyed_requests_by_age on keyed_requests(created_at)",
        ),
        moved={"idempotency_keys": "keyed_requests"},
    ),
    Migration(
        22,
        (
            # Rooms that were deleted, as long as something of them is left, are of the kind ``gone``:
            # private, without a name, and nobody is in them.
            "create index rooms_gone on rooms(id) where kind = 'gone'",
        ),
    ),
    Migration(
        23,
        (
            # A deleted message with many replies is in a room of its own, of the kind ``gone``; `part_of` is
            # the room that it was in.
            "alter table rooms add column part_of text",
        ),
    ),
    Migration(
        24,
        (
            # Refresh tokens are used once: whoever is there all day leaves some hundred in a week.
            "create index refresh_tokens_by_expiry on refresh_tokens(expires_at)",
        ),
    ),
)
