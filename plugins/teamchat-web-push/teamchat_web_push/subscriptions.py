"""Where people want their pushes: the subscriptions of browsers, each bound to a session (extension J-2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import trio
from msgspec import Struct

from teamchat import BadRequest, Changes, KeyedRequest, NotFound, Transaction
from teamchat.model import Caller, Cursor, now_ms, text
from teamchat.storage.statements import chunks
from teamchat_web_push.addresses import Refused, addresses_of, target_of
from teamchat_web_push.encryption import AUTH_BYTES, public_key
from teamchat_web_push.payload import LANGUAGES
from teamchat_web_push.vapid import from_base64url

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST = 10
"""How many a user has; one more ends the oldest."""
KEPT_MS = 30 * 24 * 3600 * 1000
"""How long one outlives a session that has merely expired."""
TAKEN = frozenset({200, 201, 202, 204})
GONE = frozenset({404, 410})
"""What a push service answers of a device that it has forgotten."""
MOST_ERROR = 120
_MOST_NAME = 80
_LOOKUPS = 4
_LOOKUP_SECONDS = 3.0
_SHOWN = "id, device_name, created_at, last_sent_at, last_error"
_OWN = f"""select {_SHOWN} from web_push_subscriptions where user_id = $1
and (created_at, id) > ($2, $3) order by created_at, id limit $4"""  # noqa: S608
_STORE = """insert into web_push_subscriptions (id, user_id, session_id, endpoint, endpoint_hash, host,
p256dh, auth, device_name, language, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"""
_CHANGE = """update web_push_subscriptions set session_id = $2, p256dh = $3, auth = $4, device_name = $5,
language = $6, left_at = null where id = $1"""
# Of those of one moment none is older by its id: the one that was just made, $3, is the newest.
_SURPLUS = """delete from web_push_subscriptions where user_id = $1 and id not in (select s.id from
web_push_subscriptions s where s.user_id = $1
order by case when s.id = $3 then 0 else 1 end, s.created_at desc, s.id desc limit $2)"""
_ONE = f"select {_SHOWN} from web_push_subscriptions where id = $1 and user_id = $2"  # noqa: S608
_SESSIONS = "select distinct session_id from web_push_subscriptions where left_at is null"
_ID = re.compile(r"[0-9a-f]{32}")


class Keys(Struct, frozen=True):
    """The browser's keys, in base64url: its public key, and a secret of 16 bytes."""

    p256dh: str
    auth: str


class SubscriptionDraft(Struct, frozen=True, rename="camel"):
    """A subscription as the browser tells it. `language` is that of the words in its pushes."""

    endpoint: str
    keys: Keys
    device_name: str = ""
    language: str = LANGUAGES[0]


class Subscription(Struct, frozen=True, rename="camel"):
    """A device that gets pushes. Times are epoch milliseconds; `last_error` is null if the last push went."""

    id: str
    device_name: str
    created_at: int
    last_sent_at: int | None
    last_error: str | None


class Device(NamedTuple):
    """Where a push goes, and how it is encrypted and worded."""

    id: str
    user_id: str
    session_id: str
    endpoint: str
    host: str
    p256dh: str
    auth: str
    language: str

    @property
    def keys(self) -> tuple[bytes, bytes]:
        """The public key that a push is encrypted for, and the secret that goes with it."""
        return from_base64url(self.p256dh), from_base64url(self.auth)


DEVICE = "s.id, s.user_id, s.session_id, s.endpoint, s.host, s.p256dh, s.auth, s.language"
"""The columns of a subscription `s` that make a `Device`."""


class Subscriptions:
    """The subscriptions of a server's users."""

    def __init__(self, app: Teamchat, allowed_hosts: Sequence[str]) -> None:
        self._storage = app.storage
        self._sessions = app.accounts.sessions
        self._allowed = allowed_hosts
        self._lookups = trio.CapacityLimiter(_LOOKUPS)

    async def add(self, caller: Caller, draft: SubscriptionDraft, key: str | None = None) -> Subscription:
        """Keep a subscription of the caller's session; one that is known, whoever's, becomes theirs.

        `key` is the Idempotency-Key (decision D-07b). Raises `BadRequest` for an address that no push is sent
        to, or keys that are none.
        """
        target = target_of(draft.endpoint, self._allowed)
        with trio.move_on_after(_LOOKUP_SECONDS), suppress(OSError):  # It is asked again when it is sent to.
            try:
                await addresses_of(target, self._lookups)
            except Refused:
                raise BadRequest("endpoint is in a private network.") from None
        _check_keys(draft.keys)
        device_name = text.name("deviceName", draft.device_name, most=_MOST_NAME) if draft.device_name else ""
        language = draft.language if draft.language in LANGUAGES else LANGUAGES[0]
        about = draft.endpoint, sha256(draft.endpoint.encode()).hexdigest(), target.host
        chosen = draft.keys.p256dh, draft.keys.auth, device_name, language
        request = KeyedRequest(caller.user.id, "web-push", key)
        async with self._storage.write() as tx:
            keep = partial(_keep, tx, caller, about, chosen)
            return await request.once(tx, draft, keep, partial(_one, tx, caller.user.id))

    async def page(
        self, caller: Caller, limit: int = MOST, cursor: str | None = None
    ) -> tuple[Sequence[Subscription], str | None]:
        """Return up to `limit` of the caller's, oldest first, and the cursor to those that follow."""
        after = Cursor(0, "") if cursor is None else Cursor.checked(cursor)
        async with self._storage.read() as tx:
            rows = await tx.fetch(_OWN, caller.user.id, *after, limit + 1)
        shown = [Subscription(*row) for row in rows[:limit]]
        more = len(rows) > limit
        return shown, Cursor(shown[-1].created_at, shown[-1].id).text if more else None

    async def get(self, caller: Caller, subscription_id: str) -> Subscription:
        """Return one of the caller's. Raises `NotFound` for any other."""
        async with self._storage.read() as tx:
            return await _one(tx, caller.user.id, subscription_id)

    async def one(self, caller: Caller, subscription_id: str) -> Device:
        """Return a device of the caller's. Raises `NotFound` for any other."""
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                f"select {DEVICE} from web_push_subscriptions s where s.id = $1 and s.user_id = $2",  # noqa: S608
                _checked(subscription_id),
                caller.user.id,
            )
        if not rows:
            raise NotFound("There is no such subscription of yours.")
        return Device(*rows[0])

    async def note(self, device: Device, status: int, reason: str) -> None:
        """Keep what a push service has said of a device that was tried; one that it has forgotten goes."""
        async with self._storage.write() as tx:
            if status in GONE:
                await tx.fetch("delete from web_push_subscriptions where id = $1", device.id)
            elif status in TAKEN:
                await tx.fetch(
                    "update web_push_subscriptions set last_sent_at = $2, last_error = null where id = $1",
                    device.id,
                    now_ms(),
                )
            else:
                await tx.fetch(
                    "update web_push_subscriptions set last_error = $2 where id = $1",
                    device.id,
                    (reason or str(status))[:MOST_ERROR],
                )

    async def remove(self, caller: Caller, subscription_id: str) -> None:
        """End a subscription of the caller's. Raises `NotFound` for any other."""
        async with self._storage.write() as tx:
            if not await tx.fetch(
                "delete from web_push_subscriptions where id = $1 and user_id = $2 returning id",
                _checked(subscription_id),
                caller.user.id,
            ):
                raise NotFound("There is no such subscription of yours.")

    async def tidy(self) -> None:
        """Note which sessions have expired, and end what has outlived one for 30 days."""
        now = now_ms()
        async with self._storage.read() as tx:
            sessions = [one for (one,) in await tx.fetch(_SESSIONS)]
            is_over = bool(
                await tx.fetch(
                    "select 1 from web_push_subscriptions where left_at <= $1 limit 1", now - KEPT_MS
                )
            )
        live = await self._sessions.expiries(sessions)
        expired = [one for one in sessions if one not in live]
        if expired or is_over:
            async with self._storage.write() as tx:
                for marks, piece in chunks(expired, after=1):
                    await tx.fetch(
                        f"update web_push_subscriptions set left_at = $1 where session_id in ({marks})",  # noqa: S608
                        now,
                        *piece,
                    )
                await tx.fetch("delete from web_push_subscriptions where left_at <= $1", now - KEPT_MS)


class Ending(Changes):
    """Ends subscriptions with their sessions and users, in the transaction of that."""

    async def sessions_ended(
        self, tx: Transaction, user_id: str, session_ids: Sequence[str], kept: str | None
    ) -> None:
        """A device that was signed out gets nothing any more."""
        if kept is not None:
            await tx.fetch(
                "delete from web_push_subscriptions where user_id = $1 and session_id <> $2", user_id, kept
            )
            return
        for session_id in session_ids:
            await tx.fetch("delete from web_push_subscriptions where session_id = $1", session_id)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nor does anybody who is no user any more."""
        await tx.fetch("delete from web_push_subscriptions where user_id = $1", user_id)

    async def user_deactivated(self, tx: Transaction, user_id: str) -> None:
        """Who may not sign in is told nothing either, and turns notices on anew when they may again."""
        await self.user_gone(tx, user_id)


async def _one(tx: Transaction, user_id: str, subscription_id: str) -> Subscription:
    rows = await tx.fetch(_ONE, _checked(subscription_id), user_id)
    if not rows:
        raise NotFound("There is no such subscription of yours.")
    return Subscription(*rows[0])


async def _keep(tx: Transaction, caller: Caller, about: tuple[str, str, str], chosen: tuple[str, ...]) -> str:
    """Store a subscription, or change one of the caller's, and return its id."""
    endpoint_hash = about[1]
    rows = await tx.fetch(
        "select id, user_id from web_push_subscriptions where endpoint_hash = $1", endpoint_hash
    )
    if rows and rows[0][1] == caller.user.id:
        id_ = str(rows[0][0])
        await tx.fetch(_CHANGE, id_, caller.session_id, *chosen)
        return id_
    for old, _ in rows:  # What waits for who was signed in here before goes with it.
        await tx.fetch("delete from web_push_subscriptions where id = $1", old)
    id_ = uuid4().hex
    await tx.fetch(_STORE, id_, caller.user.id, caller.session_id, *about, *chosen, now_ms())
    await tx.fetch(_SURPLUS, caller.user.id, MOST, id_)
    return id_


def _checked(subscription_id: str) -> str:
    """Return an id that there may be. Raises `NotFound` for any other text."""
    if not _ID.fullmatch(subscription_id):
        raise NotFound("There is no such subscription of yours.")
    return subscription_id


def _check_keys(keys: Keys) -> None:
    point = auth = b""
    with suppress(ValueError):
        point, auth = from_base64url(keys.p256dh), from_base64url(keys.auth)
    try:
        public_key(point)
    except ValueError:
        raise BadRequest("keys.p256dh is no public key of a browser.") from None
    if len(auth) != AUTH_BYTES:
        raise BadRequest(f"keys.auth has {AUTH_BYTES} bytes in base64url.")
