"""Files as they are stored, and as messages show them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from teamchat import FileStore, Storage, Transaction
from teamchat.storage.statements import chunks
from teamchat_files.events import FileChanged

State = Literal["ready", "checking", "blocked", "expired"]
DAY_MS = 24 * 60 * 60 * 1000

COLUMNS = """id, place_id, uploader_id, key, name, media_type, size, state, width, height, duration,
small_key, small_size, large_key, large_size, created_at, message_id, todo"""
_OF_MESSAGES = f"""select {COLUMNS} from files where message_id in ({{}})
order by message_id, number"""  # noqa: S608
_ONE = f"select {COLUMNS} from files where id = $1"  # noqa: S608
# What is not there costs as much as what is not seen: the nearest row stands for it (extension rule X-3).
_NEAREST = f"select {COLUMNS} from files where id <= $1 order by id desc limit 1"  # noqa: S608
_STORED = """with kept as (select key from files_stored where key > $1 order by key limit {})
select key, exists (select 1 from files where files.key = kept.key) from kept order by key"""
_DOOM_THOSE = """insert into files_doomed (key, state, due) {}
on conflict (key) do update set due = excluded.due"""
_DOOM = _DOOM_THOSE.format("values ($1, $2, $3)")
_NOTED = """delete from files_doomed where key in ($1, $2, $3)
and key in (select key from files_stored)"""
_DOOM_UPLOADS = _DOOM_THOSE.format(
    "select key, coalesce(state, ''), 0 from files_uploads where {} = $1 and is_whole = 0"
)


class File(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A file as everybody sees it (extension G); `size` is in bytes, times are epoch milliseconds.

    `duration` is in milliseconds. `width` and `height` are those of a picture.
    """

    id: str
    name: str
    media_type: str
    size: int
    created_at: int
    state: State
    width: int | UnsetType = UNSET
    height: int | UnsetType = UNSET
    has_thumbnail: bool | UnsetType = UNSET
    duration: int | UnsetType = UNSET
    expires_at: int | UnsetType = UNSET


class FileRow(NamedTuple):
    """A file as it is stored."""

    id: str
    place_id: str
    uploader_id: str
    key: str
    name: str
    media_type: str
    size: int
    state: State
    width: int | None
    height: int | None
    duration: int | None
    small_key: str | None
    small_size: int | None
    large_key: str | None
    large_size: int | None
    created_at: int
    message_id: str | None
    todo: int

    def shown(self, retention_days: int) -> File:
        """Return it as everybody sees it."""
        return File(
            self.id,
            self.name,
            self.media_type,
            self.size,
            self.created_at,
            self.state,
            width=_or_unset(self.width),
            height=_or_unset(self.height),
            has_thumbnail=True if self.small_key is not None else UNSET,
            duration=_or_unset(self.duration),
            expires_at=self.created_at + retention_days * DAY_MS if retention_days else UNSET,
        )

    def changed(self) -> FileChanged:
        """Return what is told of it where it stands in a message."""
        shown = self.shown(0)
        return FileChanged(
            self.id,
            self.message_id or "",
            self.place_id,
            self.state,
            self.media_type,
            shown.width,
            shown.height,
            shown.duration,
            shown.has_thumbnail,
        )


def _or_unset(value: int | None) -> int | UnsetType:
    return UNSET if value is None else value


async def file(tx: Transaction, file_id: str) -> FileRow | None:
    """Return a file, whoever sees it; None if there is none."""
    rows = await tx.fetch(_ONE, file_id)
    return FileRow(*rows[0]) if rows else None


async def nearest(tx: Transaction, file_id: str) -> FileRow | None:
    """Return a file, or another one in its place; None if there is none before it either."""
    rows = await tx.fetch(_NEAREST, file_id)
    return FileRow(*rows[0]) if rows else None


async def of_messages(tx: Transaction, ids: Sequence[str]) -> Mapping[str, list[FileRow]]:
    """Return the files of messages, of those that have some."""
    found: dict[str, list[FileRow]] = {}
    for marks, piece in chunks(ids):
        for row in await tx.fetch(_OF_MESSAGES.format(marks), *piece):
            one = FileRow(*row)
            found.setdefault(one.message_id or "", []).append(one)
    return found


async def insert(tx: Transaction, one: FileRow, *, number: int = 0, claimed_until: int = 0) -> None:
    """Note a file whose bytes are finished in the store."""
    await tx.fetch(
        f"""insert into files ({COLUMNS}, number, claimed_until, attempts)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 0)
        on conflict do nothing""",  # noqa: S608
        *one,
        number,
        claimed_until,
    )
    await keep_key(tx, one.key, one.size)


async def keep_key(tx: Transaction, key: str, size: int) -> None:
    """Note that the store has bytes under a key."""
    await tx.fetch("insert into files_stored (key, size) values ($1, $2) on conflict do nothing", key, size)


async def now_kept(tx: Transaction, key: str, size: int) -> None:
    """Note that what `put` has put into the store is to stay."""
    await tx.fetch("delete from files_doomed where key = $1", key)
    await keep_key(tx, key, size)


async def put(
    storage: Storage, store: FileStore, key: str, size: int, pieces: AsyncIterator[bytes], *, due: int
) -> int:
    """Put bytes into the store, and return how many came; if fewer than `size`, they are removed at once.

    Until `now_kept` they are doomed from `due` on, so whatever happens, no bytes are left that nobody knows.
    """
    async with storage.write() as tx:
        await doom(tx, key, "", due=due)
    state = await store.begin(key, size)
    written, state = await store.write(key, size, state, 0, pieces, size)
    if written == size:
        await store.finish(key, size, state)
    else:
        await store.abandon(key, state)
    return written


async def let_go(tx: Transaction, keys: Iterable[str]) -> None:
    """Doom what is under keys, and their thumbnails, where no file has them any more."""
    for key in dict.fromkeys(keys):
        if not key or await tx.fetch("select 1 from files where key = $1 limit 1", key):
            continue
        stored = [key, small_key(key), large_key(key)]
        rows = await tx.fetch("delete from files_stored where key in ($1, $2, $3) returning key", *stored)
        for (one,) in rows:
            await doom(tx, one)


async def let_go_of_made(tx: Transaction, key: str) -> None:
    """Doom what was made for a file, and its thumbnails, before any of it was noted; it goes at once.

    What another process has made of the same file meanwhile, and noted, stays.
    """
    made = key, small_key(key), large_key(key)
    if key and await tx.fetch("select 1 from files where key = $1 limit 1", key):
        await tx.fetch(_NOTED, *made)
    elif key:
        for one in made:
            await doom(tx, one)


async def kept_after(tx: Transaction, last: str, most: int) -> Sequence[tuple[str, bool]]:
    """Return the next keys under which the store has bytes, and whether a file has them."""
    return [(key, bool(has)) for key, has in await tx.fetch(_STORED.format(most), last)]


async def end_uploads(tx: Transaction, column: str, id_: str) -> None:
    """End the uploads with an id in a column, `place_id` or `uploader_id`: what had arrived is removed."""
    await tx.fetch(_DOOM_UPLOADS.format(column), id_)
    await tx.fetch(f"delete from files_uploads where {column} = $1", id_)  # noqa: S608


def small_key(key: str) -> str:
    """Return under which key the small thumbnail of a file is."""
    return f"{key}-s"


def large_key(key: str) -> str:
    """Return under which key the large thumbnail of a file is."""
    return f"{key}-l"


def is_thumbnail(key: str) -> bool:
    """Return whether it is that of a thumbnail."""
    return key.endswith(("-s", "-l"))


async def doom(tx: Transaction, key: str, state: str | None = None, *, due: int = 0) -> None:
    """Have bytes removed from the store from a time on; with a state, they may not be finished."""
    await tx.fetch(_DOOM, key, state, due)
