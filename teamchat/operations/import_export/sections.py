"""The parts of capabilities in an export: a file of records for each, in a folder of their own.

A capability that is off or not installed does not stop an export or import; what is therefore not written or
read is reported. What belongs to a deleted room or message that is still being removed is left out.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from teamchat.capabilities import Capabilities, ExportedFile, ExportPart, ImportedFile, Taken
from teamchat.chat.sight import GONE
from teamchat.errors import BadRequest, OperatorError, PluginError
from teamchat.interfaces import FileStore, Storage, Transaction
from teamchat.model import text
from teamchat.operations.import_export.form import Section
from teamchat.operations.import_export.report import Report
from teamchat.storage.capability_tables import namespace, stored_in

FOLDER = "capabilities"
NAME = re.compile(r"[a-z][a-z0-9.-]{0,39}\Z")
"""The name of a capability; it is also that of a file."""
_IMAGES = "select count(*) from message_images where message_id = $1"
_GONE = f"{GONE} union all select id from messages where room_id in ({GONE})"  # noqa: S608
_ACCOUNT = "select 1 from users where id = $1 and removed_at is null"
_MESSAGE = "select 1 from messages where id = $1 and room_id = $2"


def parts_of(capabilities: Capabilities) -> list[tuple[Taken, ExportPart]]:
    """Return the capabilities that export something, by name."""
    return [(one, one.offer.export) for one in capabilities.taken if one.offer.export is not None]


async def write_sections(tx: Transaction, directory: Path, capabilities: Capabilities) -> dict[str, Section]:
    """Write the records of all capabilities. Raises `PluginError` if one fails to.

    One whose tables no server has made yet has none.
    """
    folder, there, gone = directory / FOLDER, await stored_in(tx), await _gone(tx)
    folder.mkdir(mode=0o700)
    written = {}
    for taken, part in parts_of(capabilities):
        if taken.tables is not None and namespace(taken.name) not in there:
            continue
        count = 0
        with (folder / f"{taken.name}.jsonl").open("wb") as file, _named(taken, "write"):
            pages = cast("AsyncGenerator[Sequence[Any], None]", part.write(tx))
            async with aclosing(pages):
                async for page in pages:
                    records = [one for one in page if not _belongs_to(gone, one)]
                    file.write(b"".join([msgspec.json.encode(record) + b"\n" for record in records]))
                    count += len(records)
        written[taken.name] = Section(part.version, count)
    return written


async def exported_files(tx: Transaction, capabilities: Capabilities) -> list[ExportedFile]:
    """Return which bytes in the store of files belong to what `write_sections` writes."""
    found: list[ExportedFile] = []
    there, gone = await stored_in(tx), await _gone(tx)
    for taken, part in parts_of(capabilities):
        if taken.tables is None or namespace(taken.name) in there:
            with _named(taken, "write"):
                async with aclosing(part.files(tx)) as pages:
                    async for page in pages:
                        found += [one for one in page if not _belongs_to(gone, one)]
    return found


async def _gone(tx: Transaction) -> set[str]:
    return {id_ for (id_,) in await tx.fetch(_GONE)}


def _belongs_to(gone: set[str], record: Any) -> bool:
    return getattr(record, "channel_id", "") in gone or getattr(record, "message_id", "") in gone


async def unexported(tx: Transaction, capabilities: Capabilities) -> list[str]:
    """Return the namespaces of tables here whose capability exports nothing, or is not on."""
    exported = {namespace(taken.name) for taken, _ in parts_of(capabilities)}
    return sorted(set(await stored_in(tx)) - exported)


class SectionTaker:
    """Takes in the records of one capability, and knows what its ids are here."""

    def __init__(
        self,
        taken: Taken,
        part: ExportPart,
        users: Mapping[str, str],
        rooms: Mapping[str, str],
        edited: Collection[str],
        report: Report,
        files: tuple[Callable[[str], ImportedFile | None], FileStore | None],
    ) -> None:
        self.file, self.file_store = files
        self._taken = taken
        self._part = part
        self._users = users
        self._rooms = rooms
        self._edited = edited
        self._report = report
        self.name, self.kind, self.tables = taken.name, part.record, taken.tables
        self.options = taken.options

    async def take(self, storage: Storage, records: Sequence[Struct]) -> None:
        """Take in some records. Raises `PluginError` if the capability fails."""
        kept = [record for record in records if _is_storable(msgspec.to_builtins(record))]
        for _ in range(len(records) - len(kept)):
            self.omit("", "its text can't be stored (NUL or a lone surrogate)")
        with _named(self._taken, "take in"):
            await self._part.bring(storage, kept, self)

    def user(self, user_id: str) -> str | None:
        return self._users.get(user_id)

    async def account(self, tx: Transaction, user_id: str) -> str | None:
        user = self.user(user_id)
        return user if user is not None and await tx.fetch(_ACCOUNT, user) else None

    def room(self, room_id: str) -> str | None:
        return self._rooms.get(room_id)

    async def message(self, tx: Transaction, message_id: str, room_id: str) -> str | None:
        room = self.room(room_id)
        return message_id if room is not None and await tx.fetch(_MESSAGE, message_id, room) else None

    def was_edited(self, message_id: str) -> bool:
        return message_id in self._edited

    async def image_count(self, tx: Transaction, message_id: str) -> int:
        [(count,)] = await tx.fetch(_IMAGES, message_id)
        return int(count)

    def create(self, count: int = 1) -> None:
        self._report.create(self._taken.name, count)

    def find(self, count: int = 1) -> None:
        self._report.find(self._taken.name, count)

    def omit(self, where: str, why: str) -> None:
        self._report.omit(f"record of {self._taken.name}", where, why)

    def change(self, where: str, why: str) -> None:
        self._report.change(f"record of {self._taken.name}", where, why)


def _is_storable(value: Any) -> bool:
    """Return whether a database can hold every text in a record."""
    if isinstance(value, str):
        try:
            text.storable("text", value)
        except BadRequest:
            return False
        return True
    if isinstance(value, dict):
        return all(map(_is_storable, (*value, *value.values())))
    return all(map(_is_storable, value)) if isinstance(value, list | tuple) else True


@contextmanager
def _named(taken: Taken, what: str) -> Iterator[None]:
    """Name the capability that fails; what the operator is told otherwise is passed on."""
    try:
        yield
    except (OperatorError, OSError):
        raise
    except Exception as error:
        raise PluginError(
            f"The capability {taken.name} of the plugin {taken.label} failed to {what} its part of the "
            f"export ({type(error).__name__}). Turn it off to go on without its records."
        ) from error
