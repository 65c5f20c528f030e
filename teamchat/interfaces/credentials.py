"""Tokens that a capability keeps, accepted where access tokens are (extension K-1).

The server asks the one capability that brings them.  What it finds is a `Credential`: whose it is, and what
less than its user it may do.  Whoever ends one calls `Accounts.end_streams_in` with its id in the same
transaction, as is done for sessions: streams end by it, and what is remembered of it is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from teamchat.interfaces.protocols import Transaction

NEVER_MS = 2**53 - 1
"""When something expires that does not, in epoch milliseconds."""


class Credential(Struct, frozen=True):
    """A token: its id, which stands where a session's does, and its user.

    `scopes` are what it may be used for, and `places` the rooms to which it is limited (None: to none).
    `expires_at` is in epoch milliseconds.
    """

    id: str
    user_id: str
    scopes: frozenset[str]
    places: frozenset[str] | None = None
    expires_at: int = NEVER_MS


class NewCredential(Struct, frozen=True, rename="camel"):
    """What is asked for: a name, scopes, the places it is limited to, and when it ends, in milliseconds."""

    name: str
    scopes: Sequence[str]
    place_ids: Sequence[str] | UnsetType | None = UNSET
    expires_at: int | UnsetType | None = UNSET


class TokenInfo(Struct, frozen=True, rename="camel"):
    """A token as it is listed. Times are epoch milliseconds; nothing of the secret is in it."""

    id: str
    name: str
    scopes: Sequence[str]
    created_at: int
    place_ids: Sequence[str] | None = None
    expires_at: int | None = None
    last_used_at: int | None = None
    ip: str | None = None


class TokenPage(NamedTuple):
    """Some tokens, newest first, and the cursor to those that follow."""

    tokens: Sequence[TokenInfo]
    next: str | None


class Credentials(Protocol):
    """The tokens of a server."""

    prefix: str
    """How the text of each begins. No JWT begins so."""

    async def by_text(self, tx: Transaction, text: str) -> Credential | None:
        """Return the token of that text, also an expired one; None if there is none."""

    async def by_id(self, tx: Transaction, id_: str) -> Credential | None:
        """Return the token of that id, also an expired one; None if there is none."""

    async def expiries(self, tx: Transaction, ids: Sequence[str]) -> Mapping[str, int]:
        """Return when those of these tokens expire that are there, in epoch milliseconds."""

    def used(self, id_: str, ip: str) -> None:
        """Note that a token was used, from an address. It is called with each request, and never waits."""

    async def page(self, tx: Transaction, user_id: str, limit: int, cursor: str | None = None) -> TokenPage:
        """Return up to `limit` tokens of a user, newest first. Raises `BadRequest` for a bad cursor."""

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
        """Make a token for a user, and return it with its text, which nobody is told again.

        `by` is who asks, and `key` their Idempotency-Key. What is given `as_admin`, or has the scope
        ``admin``, is good as long as who gave it is an admin.  Raises `BadRequest` for what can't be one, and
        `Conflict` for a key that was used.
        """

    async def end(self, tx: Transaction, user_id: str, id_: str) -> None:
        """End a token of a user's, and its streams. Raises `NotFound` for any other."""

    async def end_all(self, tx: Transaction, user_id: str) -> None:
        """End all tokens of a user."""
