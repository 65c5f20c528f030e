"""Reading messages whole: with author, reactions, images and thread figures.

However many messages are read, this takes at most three statements, each answered from an index, and only one
if no message ever had a reaction or an image. An author's name is read from `users`, where removed users keep
their row (decision D-22); a webhook's name is stored with the message.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import UNSET

from teamchat.interfaces import Row, Transaction
from teamchat.model import Author, Message, ThreadMeta, UserName
from teamchat.model.ids import could_be_id
from teamchat.storage.statements import chunks

WHOLE = """select m.id, m.room_id, m.parent_id, m.author_id, m.bot_name, m.content, m.created_at,
  m.updated_at, author.user_name, author.is_bot, t.reply_count, t.last_reply_at, t.last_reply_by,
  last.user_name, t.participants, m.is_decorated
from messages m
left join users author on author.id = m.author_id
left join threads t on t.parent_id = m.id
left join users last on last.id = t.last_reply_by
"""
"""The rows of messages `m`, of which `whole` makes messages."""

Reactions = Mapping[str, Sequence[str]]


async def whole(tx: Transaction, rows: Sequence[Row]) -> list[Message]:
    """Return the messages of rows of `WHOLE`."""
    decorated = [row[0] for row in rows if row[-1]]
    reactions, images = await _reactions(tx, decorated), await _images(tx, decorated)
    return [_message(row, reactions.get(row[0], {}), images.get(row[0])) for row in rows]


async def message(tx: Transaction, message_id: str) -> Message | None:
    """Return one message, or None if there is none."""
    found = await whole(tx, await tx.fetch(WHOLE + "where m.id = $1", message_id))
    return found[0] if found else None


async def messages(tx: Transaction, message_ids: Sequence[str]) -> list[Message]:
    """Return messages in the order of their ids as given; those that are not there are left out."""
    rows: list[Row] = []
    for marks, piece in chunks(message_ids):
        rows += await tx.fetch(f"{WHOLE}where m.id in ({marks})", *piece)
    found = {message.id: message for message in await whole(tx, rows)}
    return [found[one] for one in message_ids if one in found]


async def reactions_of(tx: Transaction, message_id: str) -> dict[str, list[str]]:
    """Return who reacted how to a message, in the order in which it happened."""
    return (await _reactions(tx, [message_id]))[message_id]


async def thread_meta(tx: Transaction, parent_id: str) -> ThreadMeta | None:
    """Return what a message's thread amounts to, or None without replies."""
    rows = await tx.fetch(
        """select t.reply_count, t.last_reply_at, t.last_reply_by, u.user_name, t.participants
        from threads t left join users u on u.id = t.last_reply_by where t.parent_id = $1""",
        parent_id,
    )
    return _thread_meta(*rows[0]) if rows else None


async def user_name(tx: Transaction, user_id: str) -> str | None:
    """Return the name of a user who is there, or None for one who is unknown or was removed."""
    if not could_be_id(user_id):
        return None
    rows = await tx.fetch("select user_name from users where id = $1 and removed_at is null", user_id)
    return rows[0][0] if rows else None


async def _reactions(tx: Transaction, ids: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    grouped: dict[str, dict[str, list[str]]] = {message_id: {} for message_id in ids}
    for marks, piece in chunks(ids):
        for message_id, reaction, user_id in await tx.fetch(
            f"select message_id, reaction, user_id from reactions where message_id in ({marks})"  # noqa: S608
            " order by place",
            *piece,
        ):
            grouped[message_id].setdefault(reaction, []).append(user_id)
    return grouped


async def _images(tx: Transaction, ids: Sequence[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = defaultdict(list)
    for marks, piece in chunks(ids):
        for message_id, filename in await tx.fetch(
            f"select message_id, filename from message_images where message_id in ({marks})"  # noqa: S608
            " order by place",
            *piece,
        ):
            grouped[message_id].append(filename)
    return grouped


def _message(row: Row, reactions: Reactions, images: Sequence[str] | None) -> Message:
    (id_, room_id, parent_id, author_id, bot_name, content, created_at, updated_at, *rest) = row
    name, is_bot, *thread = rest
    reply_count, last_reply_at, last_reply_by, last_name, participants, _ = thread
    return Message(
        id=id_,
        channel_id=room_id,
        author=author(author_id, name, bot_name, is_bot),
        content=content,
        created_at=created_at,
        updated_at=updated_at,
        reactions=reactions,
        thread_id=UNSET if parent_id is None else parent_id,
        thread_meta=(
            UNSET
            if reply_count is None
            else _thread_meta(reply_count, last_reply_at, last_reply_by, last_name, participants)
        ),
        images=images or UNSET,
    )


def author(author_id: str, name: str | None, webhook: str | None, is_bot: int | None) -> Author:
    """Return a message's author: a user, who may be a bot, or the `webhook` of a name, which always is."""
    if webhook is not None:
        return Author(author_id, webhook, is_bot=True)
    return Author(author_id, name or "", is_bot=bool(is_bot) or UNSET)


def _thread_meta(
    reply_count: int, last_reply_at: int, last_reply_by: str, last_name: str | None, participants: str
) -> ThreadMeta:
    return ThreadMeta(
        reply_count, last_reply_at, UserName(last_reply_by, last_name or ""), json.loads(participants)
    )
