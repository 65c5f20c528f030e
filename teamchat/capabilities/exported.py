"""A capability's part in ``teamchat export`` and ``teamchat import``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct

from teamchat.interfaces import FileStore, Storage, Transaction


class ExportedFile(NamedTuple):
    """A file in the store of files that belongs to a record.

    `name` is its name in the export: 1 to 80 letters, digits, ``-`` and ``_``.  `key` is its key in the
    store. `channel_id` and `message_id` are the room and the message that the record belongs to, if it does.
    """

    name: str
    key: str
    channel_id: str = ""
    message_id: str = ""


class ImportedFile(NamedTuple):
    """A file of a record in an export: its `size` in bytes, and `read`, which begins to read it.

    `read` yields at most 64 KiB at a time; close it with `contextlib.aclosing`.  It raises an `OSError` if
    the file is shorter than its size.
    """

    size: int
    read: Callable[[], AsyncGenerator[bytes, None]]


class Imported(Protocol):
    """What an import knows about the ids in an export, and where it records what became of them.

    In an installation that is in use, users, rooms and conversations may have other ids than in the export.
    """

    def user(self, user_id: str) -> str | None:
        """Return the id that a user of the export has here; None for a user who is not in the export."""

    async def account(self, tx: Transaction, user_id: str) -> str | None:
        """Return the id that a user of the export has here; None also for a user who was removed here.

        Use this for what is removed together with an account, or an older export would bring it back.
        """

    def room(self, room_id: str) -> str | None:
        """Return the id that a channel or conversation has here; None for one that was left out."""

    async def message(self, tx: Transaction, message_id: str, room_id: str) -> str | None:
        """Return the id that a message has here, if it is in that room of the export; None otherwise.

        Use this for what belongs to a message: an id alone could be that of a message in a private room here.
        """

    def was_edited(self, message_id: str) -> bool:
        """Return whether a message was edited, here or there, so that the export's record may not fit it.

        What an edit may have removed from a message must not come back, nor be attached to another text.
        """

    async def image_count(self, tx: Transaction, message_id: str) -> int:
        """Return how many images a message has here."""

    def create(self, count: int = 1) -> None:
        """Count records that this import has created."""

    def find(self, count: int = 1) -> None:
        """Count records that were already here."""

    def omit(self, where: str, why: str) -> None:
        """Note that something was left out: its id, and why, without anything that somebody wrote."""

    def change(self, where: str, why: str) -> None:
        """Note that something is here, but not as it was; otherwise like `omit`."""

    def file(self, name: str) -> ImportedFile | None:
        """Return the file that the export has under a name; None if there is none."""

    @property
    def file_store(self) -> FileStore | None:
        """The store of files; None if no capability that is on keeps any."""

    @property
    def options(self) -> Any:
        """The options of the capability whose records these are."""


class ExportPart:
    """What a capability exports, and how it imports it. Subclass it, and override `write` and `take`.

    It works on the tables only: there is no application.  It writes rows without events, because an import
    makes every client load everything anew.  A capability that keeps files overrides `files` and `bring` too.
    """

    record: ClassVar[type[Struct]]
    """One record, a line of JSON. Its fields are camelCase and its times in epoch milliseconds. Numbers have
    bounds (`msgspec.Meta`), because anybody may have written the file. What belongs to a room has its id as
    `channel_id`, and what belongs to a message has that one's as `message_id`: by these, what was deleted is
    left out."""
    version: ClassVar[int] = 1
    """Grows when older versions can no longer read the records; they leave out those of a later one."""

    def write(self, tx: Transaction) -> AsyncIterator[Sequence[Any]]:
        """Yield all records, some hundred at a time, always in the same order."""
        raise NotImplementedError

    async def files(self, tx: Transaction) -> AsyncGenerator[Sequence[ExportedFile], None]:  # noqa: ARG002
        """Yield the files in the store that go with the records, some hundred at a time. By default, none."""
        return
        yield ()

    async def bring(self, storage: Storage, records: Sequence[Any], imported: Imported) -> None:
        """Import records: by default, call `take` in a transaction of its own.

        Put files into the store before that, because no transaction may wait for a store.
        """
        async with storage.write() as tx:
            await self.take(tx, records, imported)

    async def take(self, tx: Transaction, records: Sequence[Any], imported: Imported) -> None:
        """Write records into the tables, in a transaction that is open.

        It may get the same records again, and must change nothing then.
        """
        raise NotImplementedError
