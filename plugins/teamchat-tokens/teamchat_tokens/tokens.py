"""Making, finding and ending tokens (K-1). What each may do the server asks of every request.

The text of a token is ``tct_`` and 43 characters of chance; kept is its hash.  A token that is ended is no
row any more, and the event that ends sessions ends its streams, in every process.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import UNSET

from teamchat import (
    BadRequest,
    Credential,
    Forbidden,
    KeyedRequest,
    NewCredential,
    NotFound,
    TokenInfo,
    TokenPage,
    Transaction,
)
from teamchat.accounts import SCOPES, as_user
from teamchat.model import Caller, Cursor, User, now_ms, text
from teamchat.storage.statements import chunks

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_tokens.uses import Uses

PREFIX = "tct_"
MOST_TOKENS = 100
"""How many tokens a user has at most, of those that have not expired."""
MOST_PLACES = 100
MOST_ENTRIES = 20
"""How many tokens that end at once have an entry each in the audit log; more have one together."""
MOST_NAME = 80
NEVER_MS = 2**53 - 1
KEPT_MS = 30 * 24 * 60 * 60 * 1000
"""How long one that has expired is listed."""
_LENGTH = len(PREFIX) + 43
# Whoever gave it may have left, or be no admin, since the capability was off, and nobody ended it then.
_FOUND = """select id, user_id, scopes, places, expires_at from tokens where {} = $1 and exists
(select 1 from users where id = tokens.created_by and removed_at is null and deactivated_at is null
 and (wants_admin = 0 or is_admin = 1))"""
_FORGET = """delete from tokens where user_id = $1 and expires_at <= $2 and id not in
(select id from tokens where user_id = $1 and expires_at <= $2 order by expires_at desc limit $3)"""
_END_GIVEN = "delete from tokens where created_by = $1 and {} returning id, name, user_id"
_LISTED = """select id, name, scopes, created_at, places, expires_at, last_used_at, ip from tokens
where user_id = $1 and (created_at < $2 or created_at = $2 and id < $3)
order by created_at desc, id desc limit $4"""
_STORE = """insert into tokens (id, user_id, hash, name, scopes, places, created_at, created_by, expires_at,
wants_admin) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"""


class Tokens:
    """The tokens of a server: `teamchat.Credentials`."""

    prefix = PREFIX

    def __init__(self, app: Teamchat, uses: Uses) -> None:
        self._app = app
        self._uses = uses

    async def by_text(self, tx: Transaction, text: str) -> Credential | None:
        """Return the token of that text."""
        if len(text) != _LENGTH:
            return None
        return _credential(await tx.fetch(_FOUND.format("hash"), _hash(text)))

    async def by_id(self, tx: Transaction, id_: str) -> Credential | None:
        """Return the token of that id."""
        return _credential(await tx.fetch(_FOUND.format("id"), id_))

    async def expiries(self, tx: Transaction, ids: Sequence[str]) -> Mapping[str, int]:
        """Return when those of these tokens expire that are there."""
        found: dict[str, int] = {}
        for marks, piece in chunks(ids):
            sql = f"select id, expires_at from tokens where id in ({marks})"  # noqa: S608
            for id_, expires_at in await tx.fetch(sql, *piece):
                found[id_] = NEVER_MS if expires_at is None else expires_at
        return found

    def used(self, id_: str, ip: str) -> None:
        """Note that a token was used."""
        self._uses.note(id_, ip)

    async def page(self, tx: Transaction, user_id: str, limit: int, cursor: str | None = None) -> TokenPage:
        """Return up to `limit` tokens of a user, newest first."""
        after = Cursor(NEVER_MS, "") if cursor is None else Cursor.checked(cursor)
        found = [
            TokenInfo(row[0], row[1], row[2].split(), row[3], row[4].split() if row[4] else None, *row[5:])
            for row in await tx.fetch(_LISTED, user_id, *after, limit + 1)
        ]
        shown = found[:limit]
        return TokenPage(shown, _after(shown[-1]) if len(found) > limit else None)

    async def give(
        self,
        tx: Transaction,
        user_id: str,
        asked: NewCredential,
        *,
        by: str,
        key: str | None = None,
        as_admin: bool = False,
    ) -> tuple[TokenInfo, str]:
        """Make a token for a user, and return it with its text."""
        user = await _user(tx, user_id)
        name = text.name("name", asked.name, most=MOST_NAME)
        scopes, places = _scopes(user, asked), await self._places(tx, user, asked)
        if places is not None and "admin" in scopes:
            raise BadRequest("A token that is limited to places can't have the scope admin.")
        expires_at = None if asked.expires_at is UNSET else asked.expires_at
        if expires_at is not None and not now_ms() < expires_at < NEVER_MS:
            raise BadRequest("expiresAt is no time in the future, in milliseconds.")
        await KeyedRequest(by, "tokens", key).spend(tx)
        await self._check_count(tx, user_id)
        secret, made = PREFIX + secrets.token_urlsafe(32), TokenInfo(uuid4().hex, name, scopes, now_ms())
        in_words = None if places is None else " ".join(places)
        about = (made.id, user_id, _hash(secret), name, " ".join(scopes), in_words, made.created_at, by)
        await tx.fetch(_STORE, *about, expires_at, int(as_admin or "admin" in scopes))
        await self._app.audit.note(
            *(tx, "token.create", "token", made.id),
            by=by,
            userId=user_id,
            name=name,
            scopes=scopes,
            placeIds=places,
            expiresAt=expires_at,
        )
        return TokenInfo(made.id, name, scopes, made.created_at, places, expires_at), secret

    async def end(self, tx: Transaction, user_id: str, id_: str) -> None:
        """End a token of a user's, and its streams. Raises `NotFound` for any other."""
        gone = await tx.fetch(
            "delete from tokens where id = $1 and user_id = $2 returning id, name", id_, user_id
        )
        if not gone:
            raise NotFound("No such token.")
        await self._told(tx, user_id, gone)

    async def end_all(self, tx: Transaction, user_id: str) -> None:
        """End all tokens of a user."""
        await self._told(
            tx, user_id, await tx.fetch("delete from tokens where user_id = $1 returning id, name", user_id)
        )

    async def end_given(self, tx: Transaction, giver_id: str) -> None:
        """End the tokens that somebody has made for others, such as bots: they alone were shown them."""
        await self._told(tx, giver_id, await tx.fetch(_END_GIVEN.format("user_id <> $1"), giver_id))

    async def end_given_as_admin(self, tx: Transaction, giver_id: str) -> None:
        """End what somebody has given that only an admin may: of bots of others, and with the scope admin."""
        await self._told(tx, giver_id, await tx.fetch(_END_GIVEN.format("wants_admin = 1"), giver_id))

    async def sweep(self) -> None:
        """Forget tokens that have expired long ago."""
        async with self._app.storage.write() as tx:
            await tx.fetch("delete from tokens where expires_at < $1", now_ms() - KEPT_MS)

    async def _told(self, tx: Transaction, user_id: str, gone: Sequence[tuple[str, ...]]) -> None:
        """Write in the audit log which have ended, and end their streams; a row may have whose it was.

        However many there are, that takes a moment: a user is to be shut out in it.
        """
        if len(gone) > MOST_ENTRIES:
            await self._app.audit.note(tx, "token.revoke", "user", user_id, count=len(gone))
        else:
            for id_, name, *whose in gone:
                owner = whose[0] if whose else user_id
                await self._app.audit.note(tx, "token.revoke", "token", id_, userId=owner, name=name)
        await self._app.accounts.end_streams_in(tx, [one[0] for one in gone])

    async def _check_count(self, tx: Transaction, user_id: str) -> None:
        [(count,)] = await tx.fetch(
            "select count(*) from tokens where user_id = $1 and (expires_at is null or expires_at > $2)",
            *(user_id, now_ms()),
        )
        if count >= MOST_TOKENS:
            raise BadRequest(f"There are {MOST_TOKENS} tokens already; revoke one first.")
        await tx.fetch(_FORGET, user_id, now_ms(), MOST_TOKENS)

    async def _places(self, tx: Transaction, user: User, asked: NewCredential) -> Sequence[str] | None:
        if asked.place_ids is UNSET or asked.place_ids is None:
            return None
        places = list(dict.fromkeys(asked.place_ids))
        if not 1 <= len(places) <= MOST_PLACES:
            raise BadRequest(f"placeIds has 1 to {MOST_PLACES} places, or is left out.")
        for place_id in places:
            try:
                await self._app.room(tx, Caller(user, ""), place_id)
            except (NotFound, Forbidden):
                raise BadRequest("placeIds has one that is no place of the user's.") from None
        return places


def _after(token: TokenInfo) -> str:
    return Cursor(token.created_at, token.id).text


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _credential(rows: Sequence[tuple[str, str, str, str | None, int | None]]) -> Credential | None:
    if not rows:
        return None
    id_, user_id, scopes, places, expires_at = rows[0]
    return Credential(
        id_,
        user_id,
        frozenset(scopes.split()),
        None if places is None else frozenset(places.split()),
        NEVER_MS if expires_at is None else expires_at,
    )


async def _user(tx: Transaction, user_id: str) -> User:
    rows = await tx.fetch(
        """select id, user_name, email, is_admin from users
           where id = $1 and removed_at is null and deactivated_at is null""",
        user_id,
    )
    if not rows:
        raise NotFound("No such user.")
    return as_user(rows[0])


def _scopes(user: User, asked: NewCredential) -> Sequence[str]:
    """Return the scopes that are asked for, in the order in which there are."""
    if not asked.scopes or set(asked.scopes) - set(SCOPES):
        raise BadRequest(f"scopes has some of {', '.join(SCOPES)}, and at least one.")
    if "admin" in asked.scopes and not user.is_admin:
        raise BadRequest("Only an admin's token can have the scope admin.")
    return [one for one in SCOPES if one in asked.scopes]
