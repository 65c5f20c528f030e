"""Writing imported messages, with their reactions and images, and what they change around them.

What a message refers to is there before it. The figures of a thread and the last activity of a conversation
are made from the rows themselves, in the transaction that changed them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import chain

from teamchat.chat.changes import recount_thread
from teamchat.chat.images_table import MAX_PER_MESSAGE
from teamchat.chat.reactions import MAX_DIFFERENT
from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import text
from teamchat.model.ids import could_be_id, is_conversation_id
from teamchat.operations.import_export.form import PortableAuthor, PortableMessage
from teamchat.operations.import_export.report import Report

Stranger = Callable[[Transaction, PortableAuthor], Awaitable[str]]
_IMAGE = "select 1 from images where filename = $1 and room_id = $2"
_LAST = """update rooms set last_message_at = (select created_at from messages
where room_id = $1 and parent_id is null order by id desc limit 1) where id = $1"""
_NO_FIGURES = """insert into threads (parent_id, reply_count, last_reply_at, last_reply_by, participants)
values ($1, 0, 0, '', '[]') on conflict do nothing"""


class MessageWriter:
    """Writes messages whose users and rooms have the ids given by `users` and `rooms`.

    `firsts` are the first messages that rooms may be given (`channels.Destination`).  To `edited` those are
    added that were edited, here or there, since the two were the same.
    """

    def __init__(
        self,
        users: Mapping[str, str],
        rooms: Mapping[str, str],
        firsts: Mapping[str, str],
        edited: set[str],
        report: Report,
        stranger: Stranger,
    ) -> None:
        self._users = users
        self._rooms = rooms
        self._firsts = firsts
        self._edited = edited
        self._report = report
        self._stranger = stranger

    async def write(self, tx: Transaction, messages: Sequence[PortableMessage]) -> None:
        """Write those that are not there yet, in a transaction that is open."""
        written = [message for message in messages if await self._insert(tx, message)]
        for parent in sorted({message.thread_id for message in written if message.thread_id is not None}):
            if await tx.fetch("select 1 from messages where parent_id = $1 limit 1", parent):
                await tx.fetch(_NO_FIGURES, parent)
                await recount_thread(tx, parent)
        for room in sorted({self._rooms[message.channel_id] for message in written}):
            if is_conversation_id(room):
                await tx.fetch(_LAST, room)

    async def _insert(self, tx: Transaction, message: PortableMessage) -> bool:
        """Write one message, and return whether it was not there yet."""
        room = self._rooms.get(message.channel_id)
        refused = self._why_not(message, room)
        if refused is not None:
            self._report.omit("message", message.origin or message.id, refused)
            return False
        if rows := await tx.fetch("select updated_at from messages where id = $1", message.id):
            if (rows[0][0] or 0) != (message.updated_at or 0):
                self._edited.add(message.id)
            self._report.find("messages" if message.thread_id is None else "replies")
            return False
        if (message.thread_id or message.id) < self._firsts.get(message.channel_id, ""):
            why = "not everybody saw it there, and everybody would here"
            self._report.omit("message", message.origin or message.id, why)
            return False
        parent = await self._parent(tx, message, str(room))
        images = await self._images(tx, message, str(room))
        author = message.author
        author_id = author.id if author.is_bot else self._users.get(author.id)
        await tx.fetch(
            """insert into messages (id, room_id, parent_id, author_id, bot_name, content, created_at,
               updated_at, is_decorated) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)""",
            message.id,
            room,
            parent,
            author_id or await self._stranger(tx, author),
            author.user_name if author.is_bot else None,
            message.content,
            message.created_at,
            message.updated_at,
            int(bool(message.reactions or images)),
        )
        await self._decorate(tx, message, images)
        self._report.create("messages" if parent is None else "replies")
        return True

    def _why_not(self, message: PortableMessage, room: str | None) -> str | None:
        if room is None:
            return "its channel or conversation was left out"
        if not could_be_id(message.id) or is_conversation_id(message.id):
            return "its id is none"
        try:
            for each in _texts(message):
                text.storable("text", each)
        except BadRequest:
            return "its text can't be stored (NUL or a lone surrogate)"
        return None

    async def _parent(self, tx: Transaction, message: PortableMessage, room: str) -> str | None:
        """Return what the message replies to, if that is a message of its channel and no reply."""
        if message.thread_id is None:
            return None
        rows = await tx.fetch(
            "select 1 from messages where id = $1 and room_id = $2 and parent_id is null",
            message.thread_id,
            room,
        )
        if rows and not is_conversation_id(room):
            return message.thread_id
        why = "what it replies to is not in the export; it stands by itself"
        self._report.change("reply", message.origin or message.id, why)
        return None

    async def _images(self, tx: Transaction, message: PortableMessage, room: str) -> list[str]:
        found = []
        for number, filename in enumerate(message.images):
            if number >= MAX_PER_MESSAGE:
                self._report.omit(
                    "image", message.origin or message.id, f"a message has {MAX_PER_MESSAGE} at most"
                )
            elif filename not in found and await tx.fetch(_IMAGE, filename, room):
                found.append(filename)
        return found

    async def _decorate(self, tx: Transaction, message: PortableMessage, images: Sequence[str]) -> None:
        for position, filename in enumerate(images):
            await tx.fetch(
                "insert into message_images (message_id, place, filename) values ($1, $2, $3)",
                *(message.id, position, filename),
            )
        position = 0
        for number, (reaction, users) in enumerate(message.reactions.items()):
            if number >= MAX_DIFFERENT or not 0 < len(reaction) <= text.MAX_REACTION:
                self._report.omit("reaction", message.origin or message.id, "too many, or too long a name")
                continue
            for user in users:
                if user not in self._users:
                    self._report.omit(
                        "reaction", message.origin or message.id, "by nobody among the users of the export"
                    )
                    continue
                position += 1
                rows = await tx.fetch(
                    """insert into reactions (message_id, reaction, user_id, place)
                       values ($1, $2, $3, $4) on conflict do nothing returning 1""",
                    *(message.id, reaction, self._users[user], position),
                )
                self._report.create("reactions", len(rows))


def _texts(message: PortableMessage) -> Iterable[str]:
    """Return all that is written of a message, or looked for."""
    author, reactions = message.author, message.reactions
    return (
        *(message.content, author.id, author.user_name, message.thread_id or "", *message.images),
        *chain(reactions, *reactions.values()),
    )
