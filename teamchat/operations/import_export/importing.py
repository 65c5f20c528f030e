"""Importing records into an installation, empty or in use.

* It can be repeated, even after it was interrupted: what has the same id is already there and is left as it
  is. Users with the same email are the same, and so are channels with the same name.
* Times are kept, and ids are made from them, so pages have the order in which things were said.
* Nothing that only some could see becomes visible to all.
* Rows are written without their events, one page per transaction. At the end, even after an error, one RESYNC
  in the log makes all servers clear their caches and all clients reload (decision D-34).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeVar

import trio
from msgspec.structs import replace

from teamchat.accounts import names
from teamchat.accounts.records import account_by_email
from teamchat.accounts.users import bot_email
from teamchat.capabilities import Capabilities
from teamchat.chat.rooms_table import insert_direct, pair_key
from teamchat.errors import BadRequest, TeamchatError
from teamchat.events import Resync
from teamchat.interfaces import FileStore, ImageStore, Storage, Transaction
from teamchat.model import now_ms, text
from teamchat.model.ids import CONVERSATION_PREFIX, could_be_id, id_at, is_conversation_id
from teamchat.operations.import_export.channels import ChannelWriter
from teamchat.operations.import_export.form import (
    PortableAuthor,
    PortableConversation,
    PortableImage,
    PortableUser,
    Source,
)
from teamchat.operations.import_export.images import checked_image
from teamchat.operations.import_export.messages import MessageWriter
from teamchat.operations.import_export.report import Report
from teamchat.operations.import_export.sections import SectionTaker, parts_of
from teamchat.operations.stored_images import put_image
from teamchat.storage.capability_tables import refuse_older
from teamchat.storage.moving import Tell

_PAGE = 200
_TELLING_SECONDS = 10.0
T = TypeVar("T")


class Importer:
    """Brings what a source has into a storage and an image store. `report` tells what became of it."""

    def __init__(
        self,
        storage: Storage,
        images: ImageStore,
        source: Source,
        report: Report,
        capabilities: Capabilities | None = None,
        files: FileStore | None = None,
    ) -> None:
        self._storage = storage
        self._images = images
        self._files = files
        self._source = source
        self._report = report
        self._capabilities = capabilities or Capabilities()
        self._users: dict[str, str] = {}
        self._rooms: dict[str, str] = {}
        self._firsts: dict[str, str] = {}
        self._edited: set[str] = set()

    async def run(self, tell: Tell = lambda *_: None) -> None:
        """Import everything. Raises an `OperatorError`."""
        parts = await self._parts()
        try:
            await self._bring_in(parts, tell)
        except BaseException:  # What was written by then is there, also for servers that run.
            with trio.move_on_after(_TELLING_SECONDS, shield=True), suppress(TeamchatError, OSError):
                await self._have_all_reload()
            raise
        await self._have_all_reload()

    async def _have_all_reload(self) -> None:
        async with self._storage.write() as tx:
            await tx.append(Resync().to())

    async def _bring_in(self, parts: Sequence[SectionTaker], tell: Tell) -> None:
        for users in _paged(self._source.users()):
            async with self._storage.write() as tx:
                for user in users:
                    self._users[user.id] = await self._user(tx, _own(user))
        writer = ChannelWriter(self._users, self._report)
        for channel in self._source.channels():
            own_id = _own_id(channel.id, channel.created_at)
            async with self._storage.write() as tx:
                destination = await writer.write(tx, replace(channel, id=own_id))
            if destination is not None:
                self._rooms[channel.id], self._firsts[channel.id] = destination
        for conversation in self._source.conversations():
            async with self._storage.write() as tx:
                await self._conversation(tx, conversation)
        for image in self._source.images():
            await self._image(image)
        await self._messages(tell)
        for taker in parts:
            for records in _paged(self._source.section(taker.name, taker.kind)):
                await taker.take(self._storage, records)

    async def _parts(self) -> list[SectionTaker]:
        """Return what takes in the records of capabilities; note those that nothing here takes."""
        sections, takers = self._source.sections(), []
        for taken, part in parts_of(self._capabilities):
            section = sections.get(taken.name)
            if section is not None and section.version <= part.version:
                files = self._source.file, self._files
                known = self._users, self._rooms, self._edited
                takers.append(SectionTaker(taken, part, *known, self._report, files))
        tables = [one.tables for one in takers if one.tables is not None]
        await refuse_older(self._storage, tables)
        for name in sorted(set(sections) - {one.name for one in takers}):
            self._report.omit("capability", name, "not on here, or a later version of it")
        return takers

    async def _messages(self, tell: Tell) -> None:
        writer = MessageWriter(
            self._users, self._rooms, self._firsts, self._edited, self._report, self._stranger
        )
        done = 0
        for replies in (False, True):
            for messages in _paged(self._source.messages(replies=replies)):
                async with self._storage.write() as tx:
                    await writer.write(tx, messages)
                done += len(messages)
                tell("messages read", done, done + 1)
        tell("messages read", done, done)

    async def _stranger(self, tx: Transaction, author: PortableAuthor) -> str:
        """Return the id here of who wrote a message and is not among the users of the export."""
        user = PortableUser(_own_id(author.id, 0), author.user_name, removed_at=1)
        self._report.change("user", author.id, "not among the users of the export; a name at messages")
        self._users[author.id] = await self._user(tx, user)
        return self._users[author.id]

    async def _user(self, tx: Transaction, user: PortableUser) -> str:
        """Return the id that a user has here."""
        if await tx.fetch("select 1 from users where id = $1", user.id):
            self._report.find("users")
            return user.id
        if user.email and user.removed_at is None:
            same = await account_by_email(tx, user.email)
            if same is not None:
                self._report.merge(
                    "user", user.origin or user.id, "the email is that of a user here, whose name stays"
                )
                return same.user.id
        await self._insert_user(tx, user)
        self._report.create("users")
        return user.id

    async def _insert_user(self, tx: Transaction, user: PortableUser) -> None:
        is_gone = user.removed_at is not None or not (user.is_bot or _is_email(user.email))
        if is_gone and user.removed_at is None:
            self._report.change("user", user.origin or user.id, "no email; a name at messages, no account")
        if user.is_admin and not is_gone:
            self._report.make_admin(user.email)
        wanted = _name(user)
        name = wanted if is_gone else await names.free_name_in(tx, wanted)
        if name != wanted:
            self._report.change("user", user.origin or user.id, "the name is taken here; a number was added")
        await tx.fetch(
            """insert into users (id, user_name, user_name_key, email, email_key, is_admin, created_at,
               removed_at, deactivated_at, is_bot, log_start)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
               (select coalesce(max(seq), 0) from events))""",
            user.id,
            name,
            None if is_gone else text.fold(name),
            "" if is_gone else user.email,
            None if is_gone else text.fold(user.email),
            int(user.is_admin and not is_gone),
            user.created_at,
            (user.removed_at or now_ms()) if is_gone else None,
            None if is_gone else user.deactivated_at,
            int(user.is_bot),
        )
        if not is_gone:
            await names.note_in(tx, user.id, name)

    async def _conversation(self, tx: Transaction, conversation: PortableConversation) -> None:
        first, second = sorted(self._users.get(user, "") for user in conversation.participants)
        if not first or first == second:
            self._report.omit(
                "conversation", conversation.origin or conversation.id, "not between two users who are known"
            )
            return
        rows = await tx.fetch("select id from rooms where pair_key = $1", pair_key(first, second))
        if rows:
            self._report.find("conversations")
            self._rooms[conversation.id] = rows[0][0]
            return
        own_id = _own_id(conversation.id, conversation.created_at, CONVERSATION_PREFIX)
        if await tx.fetch("select 1 from rooms where id = $1", own_id):  # It is of two others here.
            self._report.find("conversations")
            return
        await insert_direct(tx, own_id, (first, second), conversation.created_at)
        self._report.create("conversations")
        self._rooms[conversation.id] = own_id

    async def _image(self, image: PortableImage) -> None:
        """Store the bytes, then the row."""
        room = self._rooms.get(image.channel_id)
        async with self._storage.read() as tx:
            is_there = bool(await tx.fetch("select 1 from images where filename = $1", image.filename))
        if is_there:
            self._report.find("images")
            return
        if room is None:
            self._report.omit(
                "image", image.origin or image.filename, "its channel or conversation was left out"
            )
            return
        try:
            checked = checked_image(self._source, image)
        except BadRequest as problem:
            self._report.omit("image", image.origin or image.filename, problem.sentence)
            return
        for key, data in checked.files:
            await put_image(self._images, key, data)
        async with self._storage.write() as tx:
            rows = await tx.fetch(
                """insert into images (filename, room_id, uploaded_by, created_at, media_type, size,
                   thumbnail_type, thumbnail_size) values ($1, $2, $3, $4, $5, $6, $7, $8)
                   on conflict do nothing returning 1""",
                image.filename,
                room,
                self._users.get(image.uploaded_by, ""),
                image.created_at,
                *checked.kinds,
            )
        self._report.create("images", len(rows))


def _paged(records: Iterable[T]) -> Iterator[Sequence[T]]:
    iterator = iter(records)
    while page := list(islice(iterator, _PAGE)):
        yield page


def _own_id(id_: str, created_at: int, prefix: str = "") -> str:
    """Return an id as it is, or in place of what can't be one here, one made from it."""
    if could_be_id(id_) and is_conversation_id(id_) == bool(prefix):
        return id_
    return prefix + id_at(max(created_at, 0), id_)


def _own(user: PortableUser) -> PortableUser:
    """Return a user with an id that can be one here, and a bot with the email that is its alone."""
    own = replace(user, id=_own_id(user.id, user.created_at))
    if own.is_bot and own.removed_at is None:
        return replace(own, email=bot_email(own.id), is_admin=False)
    return own


def _is_email(email: str) -> bool:
    try:
        return bool(text.email(email))
    except BadRequest:
        return False


def _name(user: PortableUser) -> str:
    try:
        return text.made_name("userName", user.user_name, most=text.MAX_USER_NAME)
    except BadRequest:
        return names.default_name(user.email)
