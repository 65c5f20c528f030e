"""Files in ``teamchat export`` and ``teamchat import``: a record a file of a message, its bytes beside.

What comes in is looked at as an upload is: its type is found from its bytes, and others have it once the
checks have let it pass.  A file whose bytes are not there leaves its entry in the message, as one that has
had its time.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from teamchat import (
    BadRequest,
    ExportedFile,
    ExportPart,
    FileStore,
    Imported,
    ImportedFile,
    Problem,
    Storage,
    StorageError,
    Transaction,
)
from teamchat.model import now_ms
from teamchat_files import stored
from teamchat_files.attaching import MOST
from teamchat_files.media_types import HEAD_BYTES, UNKNOWN, media_type
from teamchat_files.names import MOST_CHARACTERS, file_name
from teamchat_files.stored import DAY_MS, FileRow, State

_PAGE = 500
_Number = Annotated[int, Meta(ge=0, lt=2**48)]
_OWN_ID = re.compile(r"[0-9a-f]{32}\Z")
_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}\Z")
_AFTER = """select id, message_id, place_id, uploader_id, name, created_at, media_type, size, number,
case when state in ('blocked', 'expired') then state else '' end
from files where id > $1 and message_id is not null order by id limit $2"""
_KEYS = """select id, key, place_id, message_id from files
where id > $1 and message_id is not null and key <> '' order by id limit $2"""


class PortableFile(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A file of a message; its bytes are in ``files/<id>``, unless it is ``blocked`` or ``expired``.

    `number` is its place among the files of the message. `origin` says where it stood in what it was made
    from, for the report of an import.
    """

    id: str
    message_id: str
    channel_id: str
    uploaded_by: str
    name: str
    created_at: _Number
    media_type: str = ""
    size: _Number = 0
    number: _Number = 0
    state: str = ""
    origin: str = field(default="", name="place")

    @property
    def where(self) -> str:
        """What a report calls it."""
        return self.origin or self.id


class _Target(NamedTuple):
    """Where a file comes to stand here."""

    id: str
    message_id: str
    place_id: str
    uploader_id: str


class _Kept(NamedTuple):
    """What is known of a file here; `key` is empty where there are no bytes."""

    key: str
    size: int
    media_type: str
    state: State


class FilesExported(ExportPart):
    """The files of an installation that stand in messages."""

    record = PortableFile

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableFile], None]:
        """Yield the files in the order of their ids."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [PortableFile(*row) for row in rows]
            after = rows[-1][0]

    async def files(self, tx: Transaction) -> AsyncGenerator[Sequence[ExportedFile], None]:
        """Yield which bytes go along."""
        after = ""
        while rows := await tx.fetch(_KEYS, after, _PAGE):
            yield [ExportedFile(*row) for row in rows]
            after = rows[-1][0]

    async def bring(self, storage: Storage, records: Sequence[PortableFile], imported: Imported) -> None:
        """Bring files in, one after the other: their bytes, then their rows."""
        for record in records:
            async with storage.read() as tx:
                is_wanted = await _target(tx, record, imported) is not None
            if is_wanted:
                await _insert(storage, record, await _kept(storage, record, imported), imported)


async def _target(tx: Transaction, record: PortableFile, imported: Imported) -> _Target | None:
    """Return where a file is to stand; None, and a note of it, if it is there already or can't come in."""
    id_ = record.id if _OWN_ID.match(record.id) else hashlib.sha256(record.id.encode()).hexdigest()[:32]
    message = await imported.message(tx, record.message_id, record.channel_id)
    place, uploader = imported.room(record.channel_id), imported.user(record.uploaded_by)
    if message is None or place is None:
        imported.omit(record.where, "its message was left out")
    elif uploader is None:
        imported.omit(record.where, "by nobody among the users of the export")
    elif await tx.fetch("select 1 from files where id = $1", id_):
        imported.find()
    elif imported.was_edited(message):
        imported.omit(record.where, "its message was edited since")
    elif await _attached(tx, message, imported) >= MOST:
        imported.omit(record.where, f"a message has {MOST} images and files at most")
    else:
        return _Target(id_, message, place, uploader)
    return None


async def _attached(tx: Transaction, message_id: str, imported: Imported) -> int:
    [(files,)] = await tx.fetch("select count(*) from files where message_id = $1", message_id)
    return int(files) + await imported.image_count(tx, message_id)


async def _kept(storage: Storage, record: PortableFile, imported: Imported) -> _Kept:
    """Put the bytes of a file into the store; if they can't be read, note it."""
    if record.state in {"blocked", "expired"}:
        return _without_bytes(record, "blocked" if record.state == "blocked" else "expired")
    found, store = imported.file(record.id), imported.file_store
    if found is None or store is None:
        imported.change(record.where, "its bytes are not in the export; its message shows that it was there")
        return _without_bytes(record, "expired")
    await _check_room(store, found.size, imported.options.reserve_bytes)
    key = secrets.token_hex(16)
    try:
        # For a day, a server that runs beside leaves alone what is on its way.
        due = now_ms() + DAY_MS
        written = await stored.put(storage, store, key, found.size, _readable(found), due=due)
        if written != found.size:
            imported.change(record.where, "its bytes are damaged; its message shows that it was there")
            return _without_bytes(record, "expired")
        head = b"".join([bytes(chunk) async for chunk in await store.read(key, 0, HEAD_BYTES) or _none()])
    except (OSError, Problem) as error:
        raise StorageError(f"The store of files does not work ({type(error).__name__}).") from error
    return _Kept(key, found.size, media_type(head, name=record.name, declared=record.media_type), "checking")


async def _insert(storage: Storage, record: PortableFile, kept: _Kept, imported: Imported) -> None:
    async with storage.write() as tx:
        # A server may run beside: the message may have gone meanwhile, and what was put is doomed then.
        target = await _target(tx, record, imported)
        if target is None:
            return
        row = FileRow(
            target.id,
            target.place_id,
            target.uploader_id,
            kept.key,
            _own_name(record.name),
            kept.media_type,
            kept.size,
            kept.state,
            *(None,) * 7,
            created_at=record.created_at,
            message_id=target.message_id,
            todo=int(kept.state == "checking"),
        )
        await stored.insert(tx, row, number=record.number)
        if kept.key:
            await stored.now_kept(tx, kept.key, kept.size)
    imported.create()


async def _check_room(store: FileStore, size: int, reserve: int) -> None:
    free = await store.free_bytes()
    if free is not None and free - size < reserve:
        raise StorageError(
            f"There is no room for more files: files.reserveBytes, {reserve} bytes of the disk, stay free. "
            "Make room and import again; it goes on where it was."
        )


async def _readable(found: ImportedFile) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a file; what can't be read ends them early, and is no failure of the store."""
    try:
        async with aclosing(found.read()) as pieces:
            async for piece in pieces:
                yield piece
    except OSError:
        return


async def _none() -> AsyncGenerator[bytes, None]:
    return
    yield b""


def _own_name(name: str) -> str:
    """Return a name as it is kept here; of one that an upload could not have, what can stay."""
    try:
        return file_name(name)
    except BadRequest:
        kept = "".join(one for one in name if unicodedata.category(one) not in ("Cc", "Cs")).strip()
        return kept[-MOST_CHARACTERS:].strip(" .") or "file"


def _without_bytes(record: PortableFile, state: State) -> _Kept:
    kind = record.media_type if _TYPE.match(record.media_type) else UNKNOWN
    return _Kept("", record.size, kind, state)
