"""A retried POST answers what it made the first time (decision D-07b, extension rule X-13).

A key belongs to one user (or webhook) for 24 hours. It is looked up and stored in the transaction that makes
something, so of many retries at once, one makes it and the others find it. If the key was used for something
else, the request is refused. It is also refused if what was made is gone, because neither making it again nor
answering with it would be right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from teamchat.errors import BadRequest, Conflict, NotFound
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.storage.supposing import likely

T = TypeVar("T")

CHAT = "chat"
"""The scope of what teamchat makes itself: messages, channels, groups."""
KEPT_MS = 24 * 60 * 60 * 1000
MAX_KEY = 255
FORGET = """delete from keyed_requests where (user_id, scope, key) in (select user_id, scope, key
from keyed_requests where created_at < $1 order by created_at limit {}) returning 1"""
"""Forgets so many of before a time."""
_NOTED = """select request_hash, made, beside from keyed_requests
where user_id = $1 and scope = $2 and key = $3 and created_at >= $4"""
# A key that has had its time, and was not swept yet, is free.
_NOTE = """insert into keyed_requests (user_id, scope, key, request_hash, made, beside, created_at)
values ($1, $2, $3, $4, $5, $6, $7) on conflict (user_id, scope, key) do update set
request_hash = excluded.request_hash, made = excluded.made, beside = excluded.beside,
created_at = excluded.created_at"""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class KeyedRequest(NamedTuple):
    """A request that may be a retry: its user, the name of the capability, and the Idempotency-Key or None.

    Keys of one capability (`scope`) have nothing to do with those of another.  A POST that creates something
    does so by `once`, in its transaction.  If the answer has a secret that is shown only once, call `spend`::

        async with app.storage.write() as tx:
            request = KeyedRequest(caller.user.id, "org.example.polls", key)
            return await request.once(tx, body, partial(make, tx, body), partial(read, tx, caller))

    A key is stored for 24 hours, with the id of what was made and a digest of what was asked for, and is
    removed with its user.
    """

    user_id: str
    scope: str
    key: str | None
    digest: str = ""

    async def once(
        self,
        tx: Transaction,
        asked: Any,
        make: Callable[[], Awaitable[str]],
        read: Callable[[str], Awaitable[T]],
    ) -> T:
        """Call `make` the first time only, and return what `read` returns for the id that it returned.

        `asked` is what the request is about, for msgspec to encode: the body and the parts of the path, but
        no password.  `read` raises `NotFound` if the thing is gone, or if the caller may no longer see it.

        Raises `BadRequest` if the key was used for something else, or if what was made is gone.
        """
        request = asking(self, asked)
        before = await made_before(tx, request)
        if before is None:
            made = await make()
            await note(tx, request, made)
            return await read(made)
        try:
            return await read(before.id)
        except NotFound:
            raise MadeIsGone from None

    async def spend(self, tx: Transaction) -> None:
        """Use up the key, for an answer with a secret, which nobody gets twice.

        Only the use of the key is stored. Raises `Conflict` if it was used before, for whatever.
        """
        if await _noted(tx, self) is not None:
            raise Conflict("What was made under this Idempotency-Key was shown once, and is not shown again.")
        await note(tx, self, "")


class MadeIsGone(BadRequest):
    """What was made under a key no longer exists."""

    def __init__(self) -> None:
        super().__init__("What was made under this Idempotency-Key is gone.")


class Made(NamedTuple):
    """What a request was answered: the id of what it made or found, and the fields beside it."""

    id: str
    beside: Mapping[str, Any]


def checked_key(key: str | None) -> str | None:
    """Return an Idempotency-Key, if there is one. Raises `BadRequest` if it is invalid."""
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise BadRequest(f"Idempotency-Key must be 1 to {MAX_KEY} printable ASCII characters.")
    return key


def asking(request: KeyedRequest, asked: Any) -> KeyedRequest:
    """Return a request with a digest of what it asks for; with none if it has no key."""
    if request.key is None:
        return request
    return request._replace(digest=hashlib.sha256(msgspec.json.encode(asked)).hexdigest())


async def made_before(tx: Transaction, request: KeyedRequest) -> Made | None:
    """Return what a request made or found before, or None if it is to be done.

    Raises `BadRequest` if the key was used for something else.
    """
    noted = await _noted(tx, request)
    if noted is None:
        return None
    digest, made, beside = noted
    # Keys that stood in tables of their own, before there was this one, came without a digest.
    if digest not in ("", request.digest):
        raise BadRequest("This Idempotency-Key was used for another request.")
    return Made(made, msgspec.json.decode(beside) if beside else {})


async def note(
    tx: Transaction, request: KeyedRequest, made: str, beside: Mapping[str, Any] = _NOTHING
) -> None:
    """Keep what a request has made, by its id, and what is answered beside it."""
    if request.key is not None:
        said = msgspec.json.encode(beside).decode() if beside else ""
        await tx.fetch(_NOTE, *request, made, said, now_ms())


async def forget_in(tx: Transaction, user_id: str) -> None:
    """Forget the keys of a user who is none any more."""
    await tx.fetch("delete from keyed_requests where user_id = $1", user_id)


async def _noted(tx: Transaction, request: KeyedRequest) -> tuple[str, str, str] | None:
    if checked_key(request.key) is None:
        return None
    rows = await likely(tx, _NOTED, *request[:3], now_ms() - KEPT_MS, supposed=())
    return None if not rows else (rows[0][0], rows[0][1], rows[0][2])
