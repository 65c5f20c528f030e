"""One-time links: to sign in, to accept an invitation, to set a new password (decisions D-15, D-16).

A link works once, for the email and the purpose it was made for, until it expires or is replaced by a newer
one of the same purpose. Its token is stored nowhere: when the mail is written, it is derived from the link's
id with a key of the server's, and the table has only its hash. A decoy is a link like any other, except that
no token fits it. Whatever is wrong with a token, the answer is the same, and refusing a token does not use it
up. A link leads to `auth.appUrl`, whatever a request says about hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from teamchat.accounts import keys
from teamchat.accounts.outbox import Outbox
from teamchat.errors import BadRequest
from teamchat.interfaces import Storage, Transaction
from teamchat.model import text
from teamchat.model.ids import new_id

if TYPE_CHECKING:
    from teamchat.settings import AuthSettings

Purpose = Literal["magic", "invite", "reset"]

_MODES: Final = {"invite": "setup", "reset": "reset"}  # what the web client shows; signing in is its default
_DECOY: Final = "decoy"


class Link(NamedTuple):
    """A link that is good. `email` is spelled as in the mail it went to."""

    id: str
    purpose: str
    email: str


class Links:
    """The table ``links``."""

    def __init__(
        self, storage: Storage, auth: AuthSettings, secret: bytes, outbox: Outbox, clock: Callable[[], int]
    ) -> None:
        self._storage = storage
        self._app_url = auth.app_url
        self._key = keys.derive(secret, "links")
        self._outbox = outbox
        self._clock = clock
        self._lifetimes: dict[Purpose, int] = {
            "magic": auth.magic_link_expiry_seconds,
            "invite": auth.invite_expiry_seconds,
            "reset": auth.reset_expiry_seconds,
        }

    async def issue_in(
        self, tx: Transaction, purpose: Purpose, email: str, *, requester: str = "", is_decoy: bool = False
    ) -> None:
        """Make a link and queue its mail to `email`, in a transaction that is open (D-15).

        `requester` is who asked for it (see `Outbox.put_in`); nothing means the operator.
        An older link of this purpose and email ends.  Call `announce` once the transaction has committed.
        """
        link_id, email_key, now = new_id(), text.fold(email), self._clock()
        token = self._token(link_id, _DECOY if is_decoy else purpose, email_key)
        await tx.fetch("delete from links where purpose = $1 and email_key = $2", purpose, email_key)
        await tx.fetch(
            """insert into links (id, purpose, email_key, email, token_hash, created_at, expires_at)
               values ($1, $2, $3, $4, $5, $6, $7)""",
            link_id,
            purpose,
            email_key,
            email,
            keys.digest(token),
            now,
            now + self._lifetimes[purpose] * 1000,
        )
        await self._outbox.put_in(tx, link_id, requester=requester, is_decoy=is_decoy)

    def announce(self) -> None:
        """Wake the sender of mail: to be called once the transaction that issued has committed."""
        self._outbox.announce()

    def url(self, link_id: str, purpose: str, email: str) -> str:
        """Return the address a link's mail carries; the web client reads it (D-15)."""
        token = self._token(link_id, purpose, text.fold(email))
        query = {"token": token, "email": email}
        if purpose in _MODES:
            query["mode"] = _MODES[purpose]
        app = urlsplit(self._app_url)
        parts = [app.query, urlencode(query, quote_via=quote)]
        return urlunsplit(
            app._replace(path=f"{app.path.rstrip('/')}/", query="&".join(filter(None, parts)), fragment="")
        )

    async def check(self, purposes: Collection[Purpose], email: str, token: str) -> Link:
        """Return the link of a token without spending it. Raises `BadRequest` unless it is good now."""
        async with self._storage.read() as tx:
            return await self._find(tx, purposes, email, token)

    async def spend_in(self, tx: Transaction, purposes: Collection[Purpose], email: str, token: str) -> Link:
        """Spend a token, in a transaction that is open: of many who try at once, one succeeds.

        Raises `BadRequest`, and spends nothing, for a token that is wrong, spent or expired, or that was
        made for another email or purpose.
        """
        link = await self._find(tx, purposes, email, token)
        if not await tx.fetch("delete from links where id = $1 returning id", link.id):
            raise unusable()
        return link

    async def forget_in(self, tx: Transaction, email: str) -> None:
        """End every link of an email, and with it a mail that has not been sent yet."""
        await tx.fetch("delete from links where email_key = $1", text.fold(email))

    async def renew_in(self, tx: Transaction) -> None:
        """Give the links whose mails are not written yet tokens of this server's secret, after it changed.

        Those that were mailed before go on working, for they are known by their hashes.
        """
        waiting = await tx.fetch(
            """select l.id, l.purpose, l.email_key from links l join mails m on m.link_id = l.id
               where m.is_decoy = 0"""
        )
        for link_id, purpose, email_key in waiting:
            token = self._token(link_id, purpose, email_key)
            await tx.fetch("update links set token_hash = $2 where id = $1", link_id, keys.digest(token))

    async def sweep_in(self, tx: Transaction) -> None:
        """Remove expired links."""
        await tx.fetch("delete from links where expires_at <= $1", self._clock())

    async def _find(self, tx: Transaction, purposes: Collection[Purpose], email: str, token: str) -> Link:
        # Found by its hash: how long that takes says nothing about the token.
        rows = await tx.fetch(
            """select id, purpose, email from links
               where token_hash = $1 and email_key = $2 and expires_at > $3""",
            keys.digest(token),
            _key_of(email),
            self._clock(),
        )
        if not rows or rows[0][1] not in purposes:
            raise unusable()
        return Link(*rows[0])

    def _token(self, link_id: str, purpose: str, email_key: str) -> str:
        return keys.token(self._key, f"{link_id}\n{purpose}\n{email_key}")


def unusable() -> BadRequest:
    """Return what is raised for every token that does not work, for whatever reason."""
    return BadRequest("The link is invalid or has expired. Ask for a new one.")


def _key_of(email: str) -> str:
    """Return the key of an email; for what can't be one, a key that no link has."""
    try:
        return text.fold(text.email(email))
    except BadRequest:
        return ""
