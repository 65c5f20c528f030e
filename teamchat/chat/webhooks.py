"""Webhooks: who outside may post into one channel, with a token of its own (decision D-32).

What must stay true: the token is shown once, in the answer to its creation, and only its SHA-256 is kept.
A token finds its webhook by that hash, so the time an answer takes tells nothing of other tokens; and
whether a webhook exists is told to holders of a valid token alone.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import NamedTuple

from teamchat import text
from teamchat.chat import sight
from teamchat.chat.drafts import Draft
from teamchat.chat.filters import Filters
from teamchat.chat.posting import Submission, post
from teamchat.chat.rules import Rules
from teamchat.chat.sight import ROOM, Room
from teamchat.errors import BadRequest, Forbidden, NotFound, Unauthorized
from teamchat.events import DeleteWebhook, NewWebhook
from teamchat.ids import could_be_id, new_id
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Message, Webhook, now_ms

AUTHOR_PREFIX = "webhook:"
_TOKEN_BYTES = 32
_BY_TOKEN = f"""select w.token_hash, w.id, w.name, {ROOM}
from webhooks w join rooms r on r.id = w.channel_id where w.token_hash = $1"""  # noqa: S608
_ROOM_OF = f"select {ROOM} from webhooks w join rooms r on r.id = w.channel_id where w.id = $1"  # noqa: S608


class _Poster(NamedTuple):
    """A webhook whose token was shown: what its posts need to know of it."""

    webhook_id: str
    name: str
    room: Room

    @property
    def author_id(self) -> str:
        return AUTHOR_PREFIX + self.webhook_id


class Webhooks:
    """Managing webhooks, and what they post."""

    def __init__(self, storage: Storage, rules: Rules, filters: Filters) -> None:
        self._storage = storage
        self._rules = rules
        self._filters = filters

    async def list(self, caller: Caller) -> list[Webhook]:
        """Return all webhooks, oldest first, without tokens. Admins alone."""
        await self.check_manage(caller)
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                "select id, name, channel_id, created_at, created_by from webhooks order by id"
            )
        return [Webhook(*row) for row in rows]

    async def check_manage(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller is an admin."""
        if not caller.user.is_admin:
            raise Forbidden

    async def check_delete(self, caller: Caller, webhook_id: str) -> None:
        """Raise `NotFound` if there is no such webhook, then `Forbidden` unless the caller is an admin."""
        async with self._storage.read() as tx:
            await _room_of(tx, webhook_id)
        await self.check_manage(caller)

    async def create(self, caller: Caller, name: str, channel_id: str) -> Webhook:
        """Make a webhook for a channel and return it with its token, this once."""
        await self.check_manage(caller)
        trimmed = text.name("name", name)
        token = secrets.token_hex(_TOKEN_BYTES)
        async with self._storage.write() as tx:
            room = await _named(tx, caller, channel_id)
            webhook = Webhook(new_id(), trimmed, channel_id, now_ms(), caller.user.id, token)
            await _insert(tx, webhook, _hash(token))
            await tx.append(NewWebhook(webhook.id, trimmed, channel_id).to(room.audience))
        return webhook

    async def delete(self, caller: Caller, webhook_id: str) -> None:
        """Remove a webhook; its messages stay."""
        async with self._storage.write() as tx:
            room = await _room_of(tx, webhook_id)
            await self.check_manage(caller)
            if await tx.fetch("delete from webhooks where id = $1 returning id", webhook_id):
                await tx.append(DeleteWebhook(webhook_id, room.id).to(room.audience))

    async def check_post(self, webhook_id: str, token: str) -> None:
        """Raise `Unauthorized` for a wrong token, then `NotFound`, then `Forbidden` if it is another's."""
        async with self._storage.read() as tx:
            await _authenticate(tx, webhook_id, token)

    async def post(self, webhook_id: str, token: str, draft: Draft, key: str | None = None) -> Message:
        """Post into the webhook's channel as a bot of the webhook's name; `key` is the Idempotency-Key."""
        kept = await self._filters.passed(
            draft, lambda: self.check_post(webhook_id, token), author_id=AUTHOR_PREFIX + webhook_id
        )
        async with self._storage.write() as tx:
            poster = await _authenticate(tx, webhook_id, token)
            submission = Submission(poster.author_id, draft, kept, key, "webhook", poster.name)
            return await post(tx, poster.room, submission, self._rules)


async def _authenticate(tx: Transaction, webhook_id: str, token: str) -> _Poster:
    hashed = _hash(token)
    rows = await tx.fetch(_BY_TOKEN, hashed)
    if not rows or not hmac.compare_digest(rows[0][0].encode(), hashed.encode()):
        raise Unauthorized
    _, id_, name, *room = rows[0]
    poster = _Poster(id_, name, Room.of(room))
    if poster.webhook_id != webhook_id:
        await _room_of(tx, webhook_id)
        raise Forbidden("This token is another webhook's.")
    return poster


async def _room_of(tx: Transaction, webhook_id: str) -> Room:
    """Return the channel of a webhook, for whoever manages it; raises `NotFound` if there is none."""
    if could_be_id(webhook_id):
        rows = await tx.fetch(_ROOM_OF, webhook_id)
        if rows:
            return Room.of(rows[0])
    raise NotFound("No such webhook.")


async def _named(tx: Transaction, caller: Caller, channel_id: str) -> Room:
    """Return the channel that a body names: an unknown one makes the body invalid."""
    try:
        return await sight.channel(tx, caller, channel_id)
    except NotFound:
        raise BadRequest("channelId names no channel.") from None


async def _insert(tx: Transaction, webhook: Webhook, token_hash: str) -> None:
    await tx.fetch(
        "insert into webhooks (id, name, channel_id, token_hash, created_at, created_by)"
        " values ($1, $2, $3, $4, $5, $6)",
        webhook.id,
        webhook.name,
        webhook.channel_id,
        token_hash,
        webhook.created_at,
        webhook.created_by,
    )


def _hash(token: str) -> str:
    # A header may carry any bytes; such a token is wrong, and no reason to fail.
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
