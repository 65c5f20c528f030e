"""A capability's part in ``teamchat export`` and ``teamchat import``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from teamchat.interfaces import Transaction


class Imported(Protocol):
    """What an import knows of the ids in an export, and takes note of.

    In an installation that is in use, users, rooms and conversations may have other ids than in the export.
    """

    def user(self, user_id: str) -> str | None:
        """Return the id that a user of the export has here; None for one who is not in it."""

    def room(self, room_id: str) -> str | None:
        """Return the id of a channel or conversation here; None for one that was left out."""

    async def message(self, tx: Transaction, message_id: str, room_id: str) -> str | None:
        """Return the id of a message here, if it stands in that room of the export; None otherwise.

        What hangs on a message is to be looked up so: an id alone could be one of a private room here.
        """

    def create(self, count: int = 1) -> None:
        """Count records that are here now and were not before."""

    def find(self, count: int = 1) -> None:
        """Count records that were here before."""

    def omit(self, where: str, why: str) -> None:
        """Note what was left out: its id, and why in words, without anything that somebody wrote."""


class ExportPart:
    """What a capability exports, and takes in again. Subclass it, and override all that follows.

    It works on the tables alone: there is no application.  Rows are written without events, for an import
    makes every client load anew.
    """

    record: ClassVar[type[Struct]]
    """One record, a line of JSON. Its fields are camelCase and its times epoch milliseconds; numbers have
    bounds (`msgspec.Meta`), for the file may be anybody's."""
    version: ClassVar[int] = 1
    """Grows when records are no longer what an older version could read; a later one's are left out."""

    def write(self, tx: Transaction) -> AsyncIterator[Sequence[Any]]:
        """Yield all records, some hundred at a time, in an order that is always the same."""
        raise NotImplementedError

    async def take(self, tx: Transaction, records: Sequence[Any], imported: Imported) -> None:
        """Bring records into the tables, in a transaction that is open.

        It may be given the same ones again, and changes nothing then.
        """
        raise NotImplementedError
