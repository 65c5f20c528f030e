"""Files in messages: the field `files` of drafts and of messages, and what goes with them (G-2, G-3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat import (
    BadRequest,
    Changes,
    MessageFields,
    MessageText,
    Outcome,
    Room,
    TooMuch,
    Transaction,
    Written,
)
from teamchat.model import Caller, text
from teamchat.storage.statements import chunks
from teamchat_files import stored
from teamchat_files.stored import File

MOST = 10
"""How many files a message has at most, together with its images."""
_Id = Annotated[str, Meta(max_length=64)]
_ATTACH = """update files set message_id = $1, number = $2 where id = $3 and uploader_id = $4
and place_id = $5 and (message_id = $1 or message_id is null and state in ('ready', 'checking'))
returning id"""
_UNSENT = """delete from files where id in (select id from files
where uploader_id = $1 and message_id is null limit $2) returning id, key"""
_OF_PLACE = """delete from files where id in (select id from files where place_id = $1 limit {})
returning id, key"""
AT_ONCE = 100
"""How many files one transaction sees to at most, for all other writers wait meanwhile."""
PART = 20
"""How many are seen to in each where there are more: a busy database is slow."""
_NAMES = "select message_id, name from files where message_id in ({}) order by message_id, number"
_NOT_YOURS = "files names a file that was not uploaded here, or stands in a message already."


class FileFields(Struct, frozen=True, rename="camel"):
    """The files of a message, in the order in which its author named them."""

    files: Sequence[File] | UnsetType = UNSET


class FileDraft(Struct, frozen=True, rename="camel"):
    """The ids of files that a message is to have; without the field an edit keeps those that it has."""

    files: Sequence[_Id] | UnsetType = UNSET


class Attaching(Changes):
    """What happens to files in the transactions of messages and of rooms."""

    def __init__(self, retention_days: int) -> None:
        self._retention_days = retention_days

    @property
    def fields(self) -> MessageFields:
        """The field of messages."""
        return MessageFields(kind=FileFields, read=self.read)

    async def read(
        self, tx: Transaction, ids: Sequence[str], _: Caller | None = None
    ) -> Mapping[str, FileFields]:
        """Return the files of messages."""
        found = await stored.of_messages(tx, ids)
        return {
            message_id: FileFields([row.shown(self._retention_days) for row in rows])
            for message_id, rows in found.items()
        }

    @staticmethod
    def concerns(written: Written) -> bool:
        """Return whether a post or an edit names files, or may bring images beside those that are there."""
        has_images = written.message.images is not UNSET and bool(written.message.images)
        return written.fields.files is not UNSET or (written.before is not None and has_images)

    async def write(self, tx: Transaction, written: Written) -> Outcome:
        """Give a message its files. Raises `BadRequest` for any that are not the author's, free, and here."""
        ids = written.fields.files
        images = 0 if written.message.images is UNSET else len(written.message.images)
        if ids is UNSET:
            if images and written.before is not None:
                await _check_count(images, len((await self._present(tx, written)) or ()))
            return Outcome()
        await _check_count(images, len(ids))
        present = await self._present(tx, written) if written.before is not None else ()
        dropped = [one for one in present if one not in ids]
        await self._attach(tx, written, ids)
        await remove(tx, dropped)
        fields = (await self.read(tx, [written.message.id])).get(written.message.id)
        return Outcome(fields)

    async def stands_alone(self, tx: Transaction, fields: FileDraft, message_id: str | None) -> bool:
        """Whether a message needs no text, as it has files."""
        if fields.files is not UNSET:
            return bool(fields.files)
        if message_id is None:
            return False
        return bool(await tx.fetch("select 1 from files where message_id = $1 limit 1", message_id))

    async def _present(self, tx: Transaction, written: Written) -> Sequence[str]:
        rows = await tx.fetch("select id from files where message_id = $1", written.message.id)
        return [id_ for (id_,) in rows]

    async def _attach(self, tx: Transaction, written: Written, ids: Sequence[str]) -> None:
        if len(set(ids)) < len(ids):
            raise BadRequest("files names a file twice.")
        if ids and written.caller is None:
            raise BadRequest(_NOT_YOURS)
        for number, id_ in enumerate(ids):
            author = "" if written.caller is None else written.caller.user.id
            storable = text.storable("files", id_)
            if not await tx.fetch(_ATTACH, written.message.id, number, storable, author, written.room.id):
                raise BadRequest(_NOT_YOURS)

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:  # noqa: ARG002
        """Remove what messages have that are deleted."""
        for marks, piece in chunks(ids):
            rows = await tx.fetch(
                f"delete from files where message_id in ({marks}) returning id, key",  # noqa: S608
                *piece,
            )
            await _forget(tx, rows)

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """End what is on its way to a room that is deleted."""
        await stored.end_uploads(tx, "place_id", room.id)

    async def room_clearing(self, tx: Transaction, room: Room) -> bool:
        """Remove what was uploaded there and stands in no message."""
        rows = await tx.fetch(_OF_PLACE.format(PART), room.id)
        await _forget(tx, rows)
        return len(rows) == PART

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:
        """Remove as many of these as one transaction can."""
        return is_going and len(await _forget_some(tx, user_id, PART)) == PART

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Remove what a user has uploaded that stands in no message. Raises `TooMuch` for very many."""
        if len(await _forget_some(tx, user_id, AT_ONCE + 1)) > AT_ONCE:
            raise TooMuch(f"the user has more than {AT_ONCE} files that stand in no message")
        await stored.end_uploads(tx, "uploader_id", user_id)
        await tx.fetch("delete from files_tickets where user_id = $1", user_id)


async def remove(tx: Transaction, ids: Sequence[str]) -> None:
    """Remove files by their ids."""
    for marks, piece in chunks(ids):
        rows = await tx.fetch(f"delete from files where id in ({marks}) returning id, key", *piece)  # noqa: S608
        await _forget(tx, rows)


async def have_files(tx: Transaction, _: Caller, ids: Sequence[str], __: str) -> Collection[str]:
    """Return those of these messages that have files, for who searches."""
    return (await stored.of_messages(tx, ids)).keys()


async def texts(tx: Transaction, ids: Sequence[str]) -> Mapping[str, Sequence[MessageText]]:
    """Return the names of the files of messages, in the order of the files, for who searches (F-1)."""
    found: dict[str, list[MessageText]] = {}
    for marks, piece in chunks(ids):
        rows = await tx.fetch(_NAMES.format(marks), *piece)
        for message_id, name in rows:
            of_message = found.setdefault(message_id, [])
            of_message.append(MessageText(f"files[{len(of_message)}].name", name))
    return found


async def _forget_some(tx: Transaction, user_id: str, most: int) -> Sequence[tuple[str, ...]]:
    rows = await tx.fetch(_UNSENT, user_id, most)
    await _forget(tx, rows)
    return rows


async def _forget(tx: Transaction, rows: Sequence[tuple[str, ...]]) -> None:
    await stored.let_go(tx, [key for _, key in rows])
    for marks, piece in chunks([id_ for id_, _ in rows]):
        await tx.fetch(f"delete from files_uploads where id in ({marks})", *piece)  # noqa: S608


async def _check_count(images: int, files: int) -> None:
    if images + files > MOST:
        raise BadRequest(f"A message has at most {MOST} images and files.")
