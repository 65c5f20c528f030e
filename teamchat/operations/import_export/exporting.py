"""Writing everything people said into a directory, one JSON record per line.

It is a snapshot of one moment, however long it takes, and a server can keep running. It contains nothing of
deleted rooms, even while they are still being removed. The directory gets its name only when it is complete,
and only its owner can read it, because it contains private conversations.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from teamchat import __version__
from teamchat.capabilities import Capabilities, ExportedFile
from teamchat.chat.sight import GONE
from teamchat.errors import OperatorError
from teamchat.interfaces import FileStore, ImageStore, Row, Transaction
from teamchat.model import now_ms
from teamchat.operations.import_export.form import (
    FILES,
    FORMAT,
    HEAD,
    VERSION,
    Head,
    PortableAuthor,
    PortableChannel,
    PortableConversation,
    PortableImage,
    PortableMember,
    PortableMessage,
    PortableUser,
    PortableWebhook,
)
from teamchat.operations.import_export.sections import exported_files, unexported, write_sections
from teamchat.operations.installation import Installation
from teamchat.operations.stored_files import pieces_of
from teamchat.operations.stored_images import keys_of, read_image
from teamchat.storage.capability_tables import is_there, refuse_older
from teamchat.storage.moving import Tell
from teamchat.storage.statements import chunks

_PAGE = 500
_USERS = "id, user_name, email, is_admin, created_at, removed_at, deactivated_at, is_bot from users where"
_CHANNELS = """id, kind, coalesce(name, ''), created_at, created_by, updated_at, is_private, is_default,
was_group, topic, description, archived_at, post_policy, invite_policy, history_for, public_from
from rooms where kind not in ('direct', 'gone') and"""
_MEMBERS = """select room_id, user_id, role, joined_at, coalesce(added_by, ''), visible_from from memberships
where room_id in ({}) order by room_id, user_id"""
_LEFT = "select room_id, user_id from departures where room_id in ({}) order by room_id, user_id"
_CONVERSATIONS = "id, pair_key, created_at from rooms where kind = 'direct' and"
_IMAGES = f"""filename, room_id, uploaded_by, created_at, media_type, size, thumbnail_type, thumbnail_size
from images where room_id not in ({GONE}) and"""
_WEBHOOKS = "id, name, channel_id, created_at, created_by from webhooks where"
_MESSAGES = f"""m.id, m.room_id, m.author_id, coalesce(m.bot_name, u.user_name, ''), m.bot_name is not null,
m.content, m.created_at, m.updated_at, m.parent_id, m.is_decorated
from messages m left join users u on u.id = m.author_id
where m.room_id not in ({GONE}) and"""
_REACTIONS = "select message_id, reaction, user_id from reactions where message_id in ({}) order by place"
_ATTACHED = "select message_id, filename from message_images where message_id in ({}) order by place"


async def export_to(installation: Installation, directory: Path, tell: Tell = lambda *_: None) -> list[str]:
    """Export into a directory that is not there yet; return what is to be said. Raises an `OperatorError`."""
    capabilities = installation.capabilities()
    async with (
        installation.existing_storage() as storage,
        installation.images() as store,
        installation.files(in_use=True) as files,
    ):
        await refuse_older(storage, [one for one in capabilities.tables if await is_there(storage, one)])
        with _written(directory) as part:
            (part / "images").mkdir(mode=0o700)
            async with storage.read() as snapshot:
                head, keys, kept = await write_records(snapshot, part, capabilities, tell)
                left = await unexported(snapshot, capabilities)
            missing = await _write_images(store, part / "images", keys, tell)
            gone = await write_files(files, part, kept, tell)
            write_head(part, head)
    return _said(directory, head, left, missing, gone)


def _said(directory: Path, head: Head, left: Sequence[str], missing: int, gone: int) -> list[str]:
    counts = head.counts | {name: section.records for name, section in head.capabilities.items()}
    said = [f"{directory} is written: " + ", ".join(f"{count:,} {name}" for name, count in counts.items())]
    if missing:
        said.append(f"{missing} images have no bytes in the image store, and so not in the export either.")
    if gone:
        said.append(f"{gone} files have no bytes in their store, and so not in the export either.")
    if left:
        said.append(
            f"What is kept for {', '.join(left)} is not in the export: no capability that is on exports it. "
            "A backup has it."
        )
    return said


def write_head(part: Path, head: Head) -> None:
    """Write the file by which an export is known: the last one, for then it is whole."""
    _write(part / HEAD, msgspec.json.format(msgspec.json.encode(head)))


async def write_records(
    tx: Transaction, part: Path, capabilities: Capabilities, tell: Tell = lambda *_: None
) -> tuple[Head, list[str], list[ExportedFile]]:
    """Write all records, of one moment; return the head, the keys of the images, and what files there are."""
    counts, keys = await _write_own(tx, part, tell)
    sections = await write_sections(tx, part, capabilities)
    names = await tx.fetch("select value from server_settings where name = 'name'")
    server_name = str(names[0][0]) if names else None
    head = Head(FORMAT, VERSION, __version__, now_ms(), server_name, counts, sections)
    return head, keys, await exported_files(tx, capabilities)


async def _write_own(tx: Transaction, part: Path, tell: Tell) -> tuple[dict[str, int], list[str]]:
    keys: list[str] = []

    def image(row: Row) -> PortableImage:
        keys.extend(keys_of(row[0], has_thumbnail=row[6] is not None))
        return PortableImage(*row)

    kinds: list[tuple[str, str, str, Callable[[Row], Any]]] = [
        ("users", _USERS, "id", _user),
        ("conversations", _CONVERSATIONS, "id", _conversation),
        ("webhooks", _WEBHOOKS, "id", lambda row: PortableWebhook(*row)),
        ("images", _IMAGES, "filename", image),
    ]
    counts = {}
    for name, sql, key, make in kinds:
        with (part / f"{name}.jsonl").open("wb") as file:
            counts[name] = 0
            async with aclosing(_rows(tx, sql, key)) as pages:
                async for page in pages:
                    file.write(_lines([make(row) for row in page]))
                    counts[name] += len(page)
    counts["channels"] = await _write_channels(tx, part / "channels.jsonl")
    counts["messages"] = await _write_messages(tx, part / "messages.jsonl", tell)
    return counts, keys


async def _write_channels(tx: Transaction, path: Path) -> int:
    """Write channels, groups and notes, each with who is in it; nobody else is to see what is private."""
    count = 0
    with path.open("wb") as file:
        async with aclosing(_rows(tx, _CHANNELS, "id")) as pages:
            async for page in pages:
                file.write(_lines(await _channels(tx, page)))
                count += len(page)
    return count


async def _channels(tx: Transaction, rows: Sequence[Row]) -> list[PortableChannel]:
    members: dict[str, list[PortableMember]] = defaultdict(list)
    left: dict[str, list[str]] = defaultdict(list)
    for marks, piece in chunks([row[0] for row in rows]):
        for room_id, user_id, role, *rest in await tx.fetch(_MEMBERS.format(marks), *piece):
            members[room_id].append(PortableMember(user_id, "" if role == "member" else role, *rest))
        for room_id, user_id in await tx.fetch(_LEFT.format(marks), *piece):
            left[room_id].append(user_id)
    return [_channel(row, members.get(row[0], ()), left.get(row[0], ())) for row in rows]


def _channel(row: Row, members: Sequence[PortableMember], left: Sequence[str]) -> PortableChannel:
    id_, kind, name, created_at, created_by, updated_at, is_private, is_default, was_group, *rest = row
    topic, description, archived_at, post_policy, invite_policy, history_for, public_from = rest
    return PortableChannel(
        id=id_,
        name=name,
        created_at=created_at,
        created_by=created_by or "",
        updated_at=updated_at,
        kind="" if kind == "channel" else kind,
        is_private=bool(is_private),
        is_opt_in=not (is_private or is_default),
        was_group=bool(was_group),
        topic=topic,
        description=description,
        archived_at=archived_at,
        post_policy="" if post_policy == "everyone" else post_policy,
        invite_policy="" if invite_policy == "members" else invite_policy,
        history_for="" if history_for == "all" else history_for,
        public_from=public_from,
        members=members,
        left=left,
    )


async def _write_messages(tx: Transaction, path: Path, tell: Tell) -> int:
    [(total,)] = await tx.fetch("select count(*) from messages")
    done = 0
    with path.open("wb") as file:
        async with aclosing(_rows(tx, _MESSAGES, "m.id")) as pages:
            async for page in pages:
                file.write(_lines(await _messages(tx, page)))
                done += len(page)
                tell("messages", done, total)
    return done


async def _messages(tx: Transaction, rows: Sequence[Row]) -> list[PortableMessage]:
    reactions: dict[str, dict[str, list[str]]] = defaultdict(dict)
    images: dict[str, list[str]] = defaultdict(list)
    for marks, piece in chunks([row[0] for row in rows if row[9]]):
        for message_id, reaction, user_id in await tx.fetch(_REACTIONS.format(marks), *piece):
            reactions[message_id].setdefault(reaction, []).append(user_id)
        for message_id, filename in await tx.fetch(_ATTACHED.format(marks), *piece):
            images[message_id].append(filename)
    return [
        PortableMessage(
            id=id_,
            channel_id=room_id,
            author=PortableAuthor(author_id, name, bool(is_bot)),
            content=content,
            created_at=created_at,
            updated_at=updated_at,
            thread_id=parent_id,
            reactions=reactions.get(id_, {}),
            images=images.get(id_, ()),
        )
        for id_, room_id, author_id, name, is_bot, content, created_at, updated_at, parent_id, _ in rows
    ]


async def _rows(tx: Transaction, sql: str, key: str) -> AsyncGenerator[Sequence[Row], None]:
    after = ""
    while True:
        page = await tx.fetch(f"select {sql} {key} > $1 order by {key} limit $2", after, _PAGE)
        if page:
            yield page
            after = page[-1][0]
        if len(page) < _PAGE:
            return


def _user(row: Row) -> PortableUser:
    id_, name, email, is_admin, created_at, removed_at, deactivated_at, is_bot = row
    times = created_at, removed_at, deactivated_at
    return PortableUser(id_, name, email, bool(is_admin), *times, bool(is_bot))


def _conversation(row: Row) -> PortableConversation:
    id_, pair, created_at = row
    first, second = pair.split()
    return PortableConversation(id_, (first, second), created_at)


def _lines(records: Sequence[msgspec.Struct]) -> bytes:
    return b"".join([msgspec.json.encode(record) + b"\n" for record in records])


async def _write_images(store: ImageStore, directory: Path, keys: Sequence[str], tell: Tell) -> int:
    missing = 0
    for done, key in enumerate(keys, start=1):
        data = await read_image(store, key)
        if data is None:
            missing += 1
        else:
            _write(directory / key, data)
        tell("images", done, len(keys))
    return missing


async def write_files(
    store: FileStore | None, part: Path, files: Sequence[ExportedFile], tell: Tell = lambda *_: None
) -> int:
    """Write the bytes of files, and return how many have none any more."""
    folder, missing = part / FILES, 0
    folder.mkdir(mode=0o700)
    for done, kept in enumerate(files, start=1):
        pieces = None if store is None else await pieces_of(store, kept.key)
        if pieces is None:
            missing += 1
        else:
            with _created(folder / kept.name) as file:
                async with aclosing(pieces):
                    async for piece in pieces:
                        file.write(piece)
        tell("files", done, len(files))
    return missing


@contextmanager
def _written(directory: Path) -> Iterator[Path]:
    """Make a directory beside, and give it its name in the end."""
    if os.path.lexists(directory):
        raise OperatorError(f"{directory} is there already and is left as it is. Give another name.")
    part = directory.with_name(f".{directory.name}-{secrets.token_hex(8)}")
    try:
        part.mkdir(mode=0o700, parents=True)
        try:
            yield part
            part.rename(directory)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OperatorError(f"{directory} can't be written ({reason}).") from error


def _write(path: Path, data: bytes) -> None:
    with _created(path) as file:
        file.write(data)


def _created(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
