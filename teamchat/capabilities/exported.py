"""A capability's part in ``teamchat export`` and ``teamchat import``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct

from teamchat.interfaces import FileStore, Storage, Transaction


class ExportedFile(NamedTuple):
    """Bytes in the store of files that belong to a record.

    `name` is what they are called in the export: 1 to 80 letters, digits, ``-`` and ``_``. `key` is the
    store's. `channel_id` is the room that the record belongs to, `message_id` the message, if it belongs to
    one.
    """

    name: str
    key: str
    channel_id: str = ""
    message_id: str = ""


class ImportedFile(NamedTuple):
    """Bytes that an export has of a record: how many there are, and how to begin reading them.

    What is read is at most 64 KiB at a time, and is to be closed (`contextlib.aclosing`). It raises an
    `OSError` if fewer are there.
    """

    size: int
    read: Callable[[], AsyncGenerator[bytes, None]]


class Imported(Protocol):
    """What an import knows of the ids in an export, and takes note of.

    In an installation that is in use, users, rooms and conversations may have other ids than in the export.
    """

    def user(self, user_id: str) -> str | None:
        """Return the id that a user of the export has here; None for one who is not in it."""

    async def account(self, tx: Transaction, user_id: str) -> str | None:
        """Return the id that a user of the export has here; None also for one who was removed.

        What went with an account is to be looked up so, or it would come back by an export of before.
        """

    def room(self, room_id: str) -> str | None:
        """Return the id of a channel or conversation here; None for one that was left out."""

    async def message(self, tx: Transaction, message_id: str, room_id: str) -> str | None:
        """Return the id of a message here, if it stands in that room of the export; None otherwise.

        What hangs on a message is to be looked up so: an id alone could be one of a private room here.
        """

    def was_edited(self, message_id: str) -> bool:
        """Return whether a message was edited, here or there, since it was what the export has of it.

        What an edit may have taken out of a message is not to come back, nor to hang on another text.
        """

    async def image_count(self, tx: Transaction, message_id: str) -> int:
        """Return how many images a message has here."""

    def create(self, count: int = 1) -> None:
        """Count records that are here now and were not before."""

    def find(self, count: int = 1) -> None:
        """Count records that were here before."""

    def omit(self, where: str, why: str) -> None:
        """Note what was left out: its id, and why in words, without anything that somebody wrote."""

    def change(self, where: str, why: str) -> None:
        """Note what is here and is not what it was, as `omit` does."""

    def file(self, name: str) -> ImportedFile | None:
        """Return the bytes that the export has under a name; None if there are none."""

    @property
    def file_store(self) -> FileStore | None:
        """The store of files; None where no capability that is on keeps any."""

    @property
    def options(self) -> Any:
        """The options of the capability whose records these are."""


class ExportPart:
    """What a capability exports, and takes in again. Subclass it, and override `write` and `take`.

    It works on the tables alone: there is no application.  Rows are written without events, for an import
    makes every client load anew.  A capability that keeps files overrides `files` and `bring` too.
    """

    record: ClassVar[type[Struct]]
    """One record, a line of JSON. Its fields are camelCase and its times epoch milliseconds; numbers have
    bounds (`msgspec.Meta`), for the file may be anybody's. What belongs to a room has its id as `channel_id`,
    to a message that of the message as `message_id`: by these what was deleted is left out."""
    version: ClassVar[int] = 1
    """Grows when records are no longer what an older version could read; a later one's are left out."""

    def write(self, tx: Transaction) -> AsyncIterator[Sequence[Any]]:
        """Yield all records, some hundred at a time, in an order that is always the same."""
        raise NotImplementedError

    async def files(self, tx: Transaction) -> AsyncGenerator[Sequence[ExportedFile], None]:  # noqa: ARG002
        """Yield which bytes in the store of files go along, some hundred at a time: none."""
        return
        yield ()

    async def bring(self, storage: Storage, records: Sequence[Any], imported: Imported) -> None:
        """Bring records in: `take`, in a transaction of its own.

        Bytes are put into the store before that, for no transaction waits for a store.
        """
        async with storage.write() as tx:
            await self.take(tx, records, imported)

    async def take(self, tx: Transaction, records: Sequence[Any], imported: Imported) -> None:
        """Bring records into the tables, in a transaction that is open.

        It may be given the same ones again, and changes nothing then.
        """
        raise NotImplementedError
