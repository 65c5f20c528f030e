"""Webhooks: other systems post into one channel, each with a token of its own (decision D-32).

The token is shown once, in the answer that creates it, and only its SHA-256 is stored. A webhook is looked up
by that hash, so response times say nothing about other tokens; and only holders of a valid token learn
whether a webhook exists.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import NamedTuple

from msgspec import UNSET

from teamchat.accounts import audit
from teamchat.chat import sight
from teamchat.chat.drafts import Draft, Stored
from teamchat.chat.filters import Filters
from teamchat.chat.permissions import check_is_channel, check_open
from teamchat.chat.posting import Submission, post
from teamchat.chat.rules import Rules
from teamchat.chat.sight import ROOM, Room
from teamchat.errors import BadRequest, Forbidden, NotFound, Unauthorized
from teamchat.events import DeleteWebhook, NewWebhook
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, Message, Webhook, now_ms, text
from teamchat.model.ids import could_be_id, new_id

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
                """select id, name, channel_id, created_at, created_by, may_mention_all
                from webhooks order by id"""
            )
        return [
            Webhook(id_, name, channel_id, created_at, created_by, may_mention_all=bool(may) or UNSET)
            for id_, name, channel_id, created_at, created_by, may in rows
        ]

    async def check_manage(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller is an admin."""
        if not caller.user.is_admin:
            raise Forbidden

    async def create(
        self, caller: Caller, name: str, channel_id: str, *, may_mention_all: bool = False
    ) -> Webhook:
        """Make a webhook for a channel that the caller sees and return it with its token, this once.

        One that `may_mention_all` mentions whole channels (extension E-8).
        """
        await self.check_manage(caller)
        trimmed = text.name("name", name)
        if not channel_id:
            raise BadRequest("channelId is empty.")
        token = secrets.token_hex(_TOKEN_BYTES)
        async with self._storage.write() as tx:
            room = await sight.channel(tx, caller, channel_id)
            check_is_channel(room)
            webhook = Webhook(
                id=new_id(),
                name=trimmed,
                channel_id=channel_id,
                created_at=now_ms(),
                created_by=caller.user.id,
                token=token,
                may_mention_all=may_mention_all or UNSET,
            )
            await _insert(tx, webhook, _hash(token))
            await tx.append(NewWebhook(webhook.id, trimmed, channel_id).to(room.audience))
            await audit.note(
                *(tx, "webhook.create", "webhook", webhook.id),
                by=caller.user.id,
                name=trimmed,
                channelId=channel_id,
            )
        return webhook

    async def delete(self, caller: Caller, webhook_id: str) -> None:
        """Remove a webhook; its messages stay. Who is no admin does not learn whether there is one (X-3)."""
        await self.check_manage(caller)
        async with self._storage.write() as tx:
            room = await _room_of(tx, webhook_id)
            if await tx.fetch("delete from webhooks where id = $1 returning id", webhook_id):
                await tx.append(DeleteWebhook(webhook_id, room.id).to(room.audience))
                await audit.note(
                    *(tx, "webhook.delete", "webhook", webhook_id), by=caller.user.id, channelId=room.id
                )

    async def check_post(self, webhook_id: str, token: str) -> Room:
        """Raise `Unauthorized` for a wrong token, then `NotFound`, then `Forbidden` if it is another's."""
        async with self._storage.read() as tx:
            room = (await _authenticate(tx, webhook_id, token)).room
        check_open(room)
        return room

    async def post(self, webhook_id: str, token: str, draft: Draft, key: str | None = None) -> Message:
        """Do what `submit` does, and return the message alone."""
        return (await self.submit(webhook_id, token, draft, key)).message

    async def submit(
        self, webhook_id: str, token: str, draft: Draft, key: str | None = None, path: str = "webhook"
    ) -> Stored:
        """Post into the webhook's channel as a bot of the webhook's name.

        `key` is the Idempotency-Key, and `path` says of which request (`Submission`).
        """
        kept = await self._filters.passed(
            draft, lambda: self.check_post(webhook_id, token), author_id=AUTHOR_PREFIX + webhook_id
        )
        async with self._storage.write() as tx:
            poster = await _authenticate(tx, webhook_id, token)
            check_open(poster.room)
            submission = Submission(poster.author_id, draft, kept, key, path, poster.name)
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


async def _insert(tx: Transaction, webhook: Webhook, token_hash: str) -> None:
    await tx.fetch(
        """insert into webhooks (id, name, channel_id, token_hash, created_at, created_by, may_mention_all)
        values ($1, $2, $3, $4, $5, $6, $7)""",
        webhook.id,
        webhook.name,
        webhook.channel_id,
        token_hash,
        webhook.created_at,
        webhook.created_by,
        int(webhook.may_mention_all is True),
    )


async def may_mention_all(tx: Transaction, author_id: str) -> bool:
    """Return whether the webhook that is the author of a message may mention whole channels."""
    webhook_id = author_id.removeprefix(AUTHOR_PREFIX)
    return bool(await tx.fetch("select 1 from webhooks where id = $1 and may_mention_all = 1", webhook_id))


def _hash(token: str) -> str:
    # A header may carry any bytes; such a token is wrong, and no reason to fail.
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
