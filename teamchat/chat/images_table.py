"""The rows of images: which exist, which messages have them, and which are to be removed (decision D-25).

When an image is removed, its row goes first: from that commit on it is no longer served, and the key of its
bytes waits in ``doomed_images`` until the store has removed them, even if a process crashes in between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.storage.statements import chunks

MAX_PER_MESSAGE = 10
THUMBNAIL_PREFIX = "thumb-"

_SHAPE = re.compile(r"[0-9]{1,16}-[0-9a-f]{32}\.(?:jpg|jpeg|png|webp|svg)\Z")
_COLUMNS = "filename, room_id, uploaded_by, created_at, media_type, size, thumbnail_type, thumbnail_size"
_INSERT = f"insert into images ({_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)"  # noqa: S608
# Another room's image costs the same as none, as in `sight`.
_FIND = f"""select {_COLUMNS} from
(select * from images where filename <= $1 order by filename desc limit 1) i
where case when i.room_id = $2 then i.filename end = $1"""  # noqa: S608
_TAKE_FROM = "delete from message_images where message_id in ({}) returning filename"
_UNUSED = """select filename from images where created_at < $1 and filename > $2
  and not exists (select 1 from message_images m where m.filename = images.filename)
order by filename limit {}"""
_SHOWN = """select 1 from message_images i join messages m on m.id = i.message_id
where i.filename = $1 and coalesce(m.parent_id, m.id) >= $2 limit 1"""
# An image that another message has stays where that is.
_MOVE = """update images set room_id = $2 where filename in (select i.filename
from messages m join message_images i on i.message_id = m.id
where (m.id = $1 or m.parent_id = $1) and m.is_decorated = 1)
and not exists (select 1 from message_images i join messages m on m.id = i.message_id
where i.filename = images.filename and m.room_id = images.room_id)"""
_DOOMED = "select key from doomed_images where key > $1 order by key limit $2"
_BATCH = 200


class ImageRow(Struct, frozen=True):
    """An image as it is kept: sizes are in bytes, times epoch milliseconds."""

    filename: str
    room_id: str
    uploaded_by: str
    created_at: int
    media_type: str
    size: int
    thumbnail_type: str | None = None
    thumbnail_size: int | None = None


async def insert_image(tx: Transaction, row: ImageRow) -> None:
    """Record an image whose bytes are stored."""
    await tx.fetch(_INSERT, *(getattr(row, name) for name in ImageRow.__struct_fields__))


async def find_image(
    tx: Transaction, room_id: str, filename: str, *, first_seen: str = "", by: str = ""
) -> ImageRow | None:
    """Return an image of a room; None for one that is not there, or is another room's.

    Who sees nothing of before the message `first_seen` sees those images that a message has which they see,
    and those that they have uploaded (`by`) themselves.
    """
    rows = _SHAPE.match(filename) and await tx.fetch(_FIND, filename, room_id)
    found = ImageRow(*rows[0]) if rows else None
    if found is None or not first_seen or await tx.fetch(_SHOWN, filename, first_seen):
        return found
    is_attached = await tx.fetch("select 1 from message_images where filename = $1 limit 1", filename)
    return None if is_attached or found.uploaded_by != by else found


async def attach(
    tx: Transaction,
    room_id: str,
    message_id: str,
    filenames: Sequence[str],
    *,
    first_seen: str = "",
    by: str = "",
) -> None:
    """Make `filenames` the images of a message, in this order, in place of those it had.

    Raises `BadRequest` if there are more than ten, or one is not an image of `room_id` (decision D-25) that
    who writes (`by`) sees, as `find_image` says.
    Images that the message no longer has stay until `Images.sweep` finds them without any message.
    """
    if len(filenames) > MAX_PER_MESSAGE:
        raise BadRequest(f"images names more than {MAX_PER_MESSAGE} images.")
    for filename in filenames:
        if await find_image(tx, room_id, filename, first_seen=first_seen, by=by) is None:
            raise BadRequest("images names a file that was not uploaded here.")
    await tx.fetch("delete from message_images where message_id = $1", message_id)
    if filenames:
        await tx.fetch("update messages set is_decorated = 1 where id = $1", message_id)
    for position, filename in enumerate(filenames):
        await tx.fetch(
            "insert into message_images (message_id, place, filename) values ($1, $2, $3)",
            message_id,
            position,
            filename,
        )


async def forget_images_of(tx: Transaction, message_ids: Sequence[str]) -> None:
    """Take the images from messages that are being deleted, and doom those no other message has."""
    for marks, piece in chunks(message_ids):
        rows = await tx.fetch(_TAKE_FROM.format(marks), *piece)
        for filename in sorted({filename for (filename,) in rows}):
            await doom_if_unused(tx, filename)


async def move_images_of_thread(tx: Transaction, message_id: str, room_id: str) -> None:
    """Move the images of a message and its replies into the room where these are now."""
    await tx.fetch(_MOVE, message_id, room_id)


async def forget_images_in(tx: Transaction, room_id: str, most: int) -> int:
    """Doom images of a deleted room whose messages are gone, `most` at most, and return how many."""
    rows = await tx.fetch(
        f"""delete from images where filename in
        (select filename from images where room_id = $1 limit {most}) returning filename, thumbnail_type""",  # noqa: S608
        room_id,
    )
    for filename, thumbnail_type in rows:
        await _doom(tx, filename, has_thumbnail=thumbnail_type is not None)
    return len(rows)


async def unused_images(tx: Transaction, before: int, after: str) -> list[str]:
    """Return some images of before a time that no message has, in their order."""
    return [filename for (filename,) in await tx.fetch(_UNUSED.format(_BATCH), before, after)]


async def doomed_keys(tx: Transaction, after: str) -> list[str]:
    """Return some keys of bytes that are to be removed, in their order."""
    return [key for (key,) in await tx.fetch(_DOOMED, after, _BATCH)]


async def strike_off(tx: Transaction, keys: Sequence[str]) -> None:
    """Forget keys whose bytes were removed."""
    for marks, piece in chunks(keys):
        await tx.fetch(f"delete from doomed_images where key in ({marks})", *piece)  # noqa: S608


async def doom_if_unused(tx: Transaction, filename: str) -> None:
    """Remove an image if no message has it."""
    rows = await tx.fetch(
        "delete from images where filename = $1 and not exists"
        " (select 1 from message_images m where m.filename = images.filename) returning thumbnail_type",
        filename,
    )
    for (thumbnail_type,) in rows:
        await _doom(tx, filename, has_thumbnail=thumbnail_type is not None)


async def _doom(tx: Transaction, filename: str, *, has_thumbnail: bool) -> None:
    keys = [filename, THUMBNAIL_PREFIX + filename] if has_thumbnail else [filename]
    for key in keys:
        await tx.fetch("insert into doomed_images (key) values ($1) on conflict do nothing", key)
