"""The tables of files.

An upload is a row from its first request on, and what it may take is reserved by that; a file is a row once
all bytes are there.  Bytes of the store that are finished stand in ``files_stored``, with every file and
thumbnail that has them; those that are to go wait in ``files_doomed`` until the store has let go of them,
whatever crashes in between.
"""

from teamchat import Check, Migration

MIGRATIONS = (
    Migration(
        1,
        (
            # `written` and `state` are what the store has durably (`teamchat.FileStore`; no state yet: it was
            # not asked). `writer` is the request that writes now. `is_whole`: the file is there. `is_over`:
            # it expired, and its bytes are doomed.
            """create table files_uploads (id text primary key,
               place_id text not null references rooms(id) on delete cascade,
               uploader_id text not null references users(id) on delete cascade, key text not null,
               name text not null, declared text not null, size {int} not null, written {int} not null,
               state text, writer text not null, is_whole {int} not null, is_over {int} not null,
               created_at {int} not null, expires_at {int} not null,
               request_key text, request_hash text not null){table_end}""",
            "create index files_uploads_by_place on files_uploads(place_id)",
            "create index files_uploads_by_expiry on files_uploads(expires_at)",
            """create unique index files_uploads_by_request on files_uploads(uploader_id, request_key)
               where request_key is not null""",
            # `key` is empty once the bytes are gone, and the message still shows that there were some.
            # Without a message it is its uploader's alone. `todo` is 1 as long as it has still to be looked
            # at, which one process does until `claimed_until`.
            """create table files (id text primary key,
               place_id text not null references rooms(id) on delete cascade,
               uploader_id text not null references users(id) on delete cascade, key text not null,
               name text not null, media_type text not null, size {int} not null, state text not null,
               width {int}, height {int}, duration {int}, small_key text, small_size {int},
               large_key text, large_size {int}, created_at {int} not null,
               message_id text references messages(id) on delete cascade, number {int} not null,
               todo {int} not null, claimed_until {int} not null, attempts {int} not null){table_end}""",
            "create index files_by_message on files(message_id, number) where message_id is not null",
            "create index files_by_place on files(place_id)",
            "create index files_by_key on files(key)",
            "create index files_loose on files(created_at) where message_id is null",
            "create index files_by_age on files(created_at)",
            "create index files_todo on files(claimed_until) where todo = 1",
            "create table files_stored (key text primary key, size {int} not null){table_end}",
            # With a state it may not be finished. It is removed at `due`; what is being made is noted before.
            "create table files_doomed (key text primary key, state text, due {int} not null){table_end}",
            "create index files_doomed_by_due on files_doomed(due)",
            """create table files_spent (user_id text not null references users(id) on delete cascade,
               hour {int} not null, size {int} not null, primary key (user_id, hour)){table_end}""",
            """create table files_tickets (hash text primary key,
               file_id text not null references files(id) on delete cascade,
               user_id text not null references users(id) on delete cascade, session_id text not null,
               expires_at {int} not null){table_end}""",
            "create index files_tickets_by_file on files_tickets(file_id)",
            "create index files_tickets_by_expiry on files_tickets(expires_at)",
        ),
    ),
    Migration(2, ("create index files_listed on files(place_id, message_id) where message_id is not null",)),
    # What came with the request that began the upload and had a key, as `teamchat_files.retried` has it.
    Migration(3, ("alter table files_uploads add column brought text",)),
    Migration(
        4,
        (
            # Keys of requests are the server's to keep.
            """insert into keyed_requests (user_id, scope, key, request_hash, made, created_at)
               select uploader_id, 'files', request_key, '', id, created_at from files_uploads
               where request_key is not null""",
            "drop index files_uploads_by_request",
            "alter table files_uploads drop column request_key",
            "alter table files_uploads drop column request_hash",
        ),
    ),
)

CHECKS = (
    Check(
        "files",
        "all bytes of a file are in the store",
        """select count(*) from files f where f.key <> ''
           and not exists (select 1 from files_stored s where s.key = f.key)""",
    ),
    Check(
        "files",
        "no upload has more than it announced",
        "select count(*) from files_uploads where written > size or written < 0",
    ),
    Check(
        "stored files",
        "each is of a file, or of a thumbnail",
        """select count(*) from files_stored where key not in (select key from files)
           and key not in (select small_key from files where small_key is not null)
           and key not in (select large_key from files where large_key is not null)""",
    ),
)
