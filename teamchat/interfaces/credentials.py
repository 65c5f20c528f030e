"""Tokens that a capability keeps, accepted wherever access tokens are (extension K-1).

The server asks the one capability that brings them.  It gets a `Credential`, which says whose the token is
and to which part of its user's rights it is limited.  Code that ends a token calls `Accounts.end_streams_in`
with its id in the same transaction, as for sessions: this ends its streams and clears what is cached of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import UNSET, Struct, UnsetType

from teamchat.interfaces.protocols import Transaction

NEVER_MS = 2**53 - 1
"""When something expires that never does, in epoch milliseconds."""


class Credential(Struct, frozen=True):
    """A token: its id, which is used wherever a session's is, and its user.

    `scopes` say what it may be used for.  `places` are the rooms it is limited to; None means no limit.
    `expires_at` is in epoch milliseconds.
    """

    id: str
    user_id: str
    scopes: frozenset[str]
    places: frozenset[str] | None = None
    expires_at: int = NEVER_MS


class NewCredential(Struct, frozen=True, rename="camel"):
    """A token to make: its name, scopes, the rooms it is limited to, and its end, in epoch milliseconds."""

    name: str
    scopes: Sequence[str]
    place_ids: Sequence[str] | UnsetType | None = UNSET
    expires_at: int | UnsetType | None = UNSET


class TokenInfo(Struct, frozen=True, rename="camel"):
    """A token as it is listed, without its secret. Times are in epoch milliseconds."""

    id: str
    name: str
    scopes: Sequence[str]
    created_at: int
    place_ids: Sequence[str] | None = None
    expires_at: int | None = None
    last_used_at: int | None = None
    ip: str | None = None


class TokenPage(NamedTuple):
    """Some tokens, newest first, and the cursor of the next page."""

    tokens: Sequence[TokenInfo]
    next: str | None


class Credentials(Protocol):
    """The tokens of a server."""

    prefix: str
    """How the text of every token begins. No JWT begins like this."""

    async def by_text(self, tx: Transaction, text: str) -> Credential | None:
        """Return the token with this text, even if it has expired; None if there is none."""

    async def by_id(self, tx: Transaction, id_: str) -> Credential | None:
        """Return the token with this id, even if it has expired; None if there is none."""

    async def expiries(self, tx: Transaction, ids: Sequence[str]) -> Mapping[str, int]:
        """Return when each of these tokens that exists expires, in epoch milliseconds."""

    def used(self, id_: str, ip: str) -> None:
        """Note that a token was used, and from which address. Called with each request; it must not wait."""

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
        """Make a token for a user, and return it with its text, which is not shown again.

        `by` is who asks for it, and `key` their Idempotency-Key.  A token that is given `as_admin`, or has
        the scope ``admin``, is valid only as long as whoever gave it is an admin.  Raises `BadRequest` if
        `asked` is invalid, and `Conflict` if the key was used before.
        """

    async def end(self, tx: Transaction, user_id: str, id_: str) -> None:
        """End a token of this user, and its streams. Raises `NotFound` for any other."""

    async def end_all(self, tx: Transaction, user_id: str) -> None:
        """End all tokens of a user."""
