"""A retried POST answers the message it made the first time (decision D-07b).

A key belongs to one user (or webhook) for 24 hours.  It is looked up and kept in the transaction that
makes the message, so of many retries at once one makes it and the others find it.  With another body, or on
another path, the key is refused; so it is if the message was deleted since, for neither making it again
nor answering what is gone would be true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from teamchat.chat import records
from teamchat.chat.drafts import Draft, images_of
from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import Message, now_ms
from teamchat.model.text import storable

KEPT_MS = 24 * 60 * 60 * 1000
MAX_KEY = 255
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class KeyedRequest(NamedTuple):
    """A request that may be a retry: whose, under which key, and a digest of what it asks for."""

    user_id: str
    key: str
    request_hash: str


def keyed(
    user_id: str, key: str | None, path: str, draft: Draft, besides: Mapping[str, Any]
) -> KeyedRequest | None:
    """Return the request to look up and remember, or None without a key. `path` names where it posts.

    `besides` are the fields of capabilities that the draft has.
    """
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_KEY:
        raise BadRequest(f"Idempotency-Key must have 1 to {MAX_KEY} characters.")
    asked = msgspec.json.encode([path, draft.content, images_of(draft), *([besides] if besides else [])])
    return KeyedRequest(user_id, storable("Idempotency-Key", key), hashlib.sha256(asked).hexdigest())


def keyed_room(user_id: str, key: str | None, path: str, asked: Struct) -> KeyedRequest | None:
    """Return the request for a room that is to be looked up and remembered, or None without a key."""
    if key is None:
        return None
    digest = hashlib.sha256(msgspec.json.encode([path, asked])).hexdigest()
    return KeyedRequest(user_id, storable("Idempotency-Key", key), digest)


class Answered(NamedTuple):
    """What a request was answered: a message, and what stood beside it for its author alone."""

    message: Message
    beside: Mapping[str, Any]


class Made(NamedTuple):
    """What a request was answered: the id of a room, and what stood beside it."""

    id: str
    beside: Mapping[str, Any]


async def made_before(tx: Transaction, request: KeyedRequest | None) -> Made | None:
    """Return what a request made or found before, or None if it is to be done.

    Raises `BadRequest` if the key was used for something else.
    """
    noted = await _noted(tx, request)
    return None if noted is None else Made(noted[0], _decoded(noted[1]))


async def _noted(tx: Transaction, request: KeyedRequest | None) -> tuple[str, str] | None:
    """Return the id of what a request made before, and what was answered beside it, in JSON."""
    if request is None:
        return None
    await tx.fetch("delete from idempotency_keys where created_at < $1", now_ms() - KEPT_MS)
    rows = await tx.fetch(
        "select request_hash, message_id, beside from idempotency_keys where user_id = $1 and key = $2",
        request.user_id,
        request.key,
    )
    if not rows:
        return None
    [(request_hash, made, beside)] = rows
    if request_hash != request.request_hash:
        raise BadRequest("This Idempotency-Key was used for another request.")
    return str(made), str(beside)


async def earlier_answer(
    tx: Transaction, request: KeyedRequest | None, first_seen: str = ""
) -> Answered | None:
    """Return the message this request made before, as it is now; None if it is to be made.

    What was answered beside it is as it was.

    One of before `first_seen`, which who asks does not see any more, is as one that was deleted.  Raises
    `BadRequest` if the key was used for something else or the message was deleted.
    """
    noted = await _noted(tx, request)
    if noted is None:
        return None
    message_id, beside = noted
    message = await records.message(tx, message_id)
    if message is None or (message.thread_id or message.id) < first_seen:
        raise BadRequest("The message made under this Idempotency-Key was deleted.")
    return Answered(message, _decoded(beside))


def _decoded(beside: str) -> Mapping[str, Any]:
    return msgspec.json.decode(beside) if beside else {}


async def note(
    tx: Transaction, request: KeyedRequest | None, made: str, beside: Mapping[str, Any] = _NOTHING
) -> None:
    """Keep what a request has made, by its id, and what is answered beside it."""
    if request is None:
        return
    await tx.fetch(
        """insert into idempotency_keys (user_id, key, request_hash, message_id, created_at, beside)
        values ($1, $2, $3, $4, $5, $6)""",
        request.user_id,
        request.key,
        request.request_hash,
        made,
        now_ms(),
        msgspec.json.encode(beside).decode() if beside else "",
    )
