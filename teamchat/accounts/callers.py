"""Whom a request's access token stands for; asked with every request.

The answer is that of a transaction begun now. A session that was read is cached until the log touches it or
its user, so code that ends a session or changes a user's row appends an event that says so in the same
transaction (`SessionsEnded`, `UserGone`, `UpdateUser`).
"""

from __future__ import annotations

from collections.abc import Callable

from teamchat.accounts import keys
from teamchat.accounts.access_tokens import AccessTokens, Bearer
from teamchat.accounts.records import check_unchanged, find_caller
from teamchat.capabilities.changes import TakesPart
from teamchat.errors import Unauthorized
from teamchat.interfaces import Credentials, Storage
from teamchat.model import Caller
from teamchat.storage import cache

_SIZE = 1_000
_MOST_BYTES = 8 * 1024 * 1024


class Callers:
    """The signed-in, by their access tokens."""

    def __init__(
        self,
        storage: Storage,
        tokens: AccessTokens,
        clock: Callable[[], int],
        capabilities: TakesPart,
    ) -> None:
        self._capabilities = capabilities
        self._storage = storage
        self._tokens = tokens
        self._clock = clock
        self._known = cache.ReadCache(storage, _MOST_BYTES, capabilities.event_types)

    @property
    def as_of(self) -> int:
        """The position of the log as of which callers are known, and those at least who were found before."""
        return self._known.position

    async def authenticate(self, token: str) -> Caller:
        """Return whose access token this is. Raises `Unauthorized` unless it is good now (D-09)."""
        credentials = self._capabilities.credentials
        if credentials is None or not token.startswith(credentials.prefix):
            return await self._find(self._tokens.read(token))
        return await self._find(await self._of_credential(credentials, token))

    async def ask_again(self, caller: Caller) -> Caller:
        """Return a caller as they are now (decision D-39); the access token may have expired meanwhile.

        Raises `Unauthorized` if their session or user is gone, `Forbidden` if they are an admin no longer.
        """
        found = await self._find(Bearer(caller.user.id, caller.session_id))
        check_unchanged(caller, found)
        return found

    async def _of_credential(self, credentials: Credentials, token: str) -> Bearer:
        """Return whose token of a capability's this is; it is kept here by its hash, as there."""
        digest = keys.digest(token)
        position = await self._known.catch_up()
        known: Bearer | None = self._known.get(digest)
        if known is None:
            async with self._storage.read() as tx:
                found = await credentials.by_text(tx, token)
            if found is None:
                raise Unauthorized
            known = Bearer(found.user_id, found.id)
            self._known.keep(digest, known, (cache.session(found.id),), position=position, size=_SIZE)
        return known

    async def _find(self, bearer: Bearer) -> Caller:
        position = await self._known.catch_up()
        known: tuple[Caller, int] | None = self._known.get(bearer)
        # A session that was refreshed since lives longer than is known here.
        if known is None or known[1] <= self._clock():
            async with self._storage.read() as tx:
                known = await find_caller(
                    tx, bearer.user_id, bearer.session_id, self._clock(), self._capabilities
                )
            # No event says that a session's password was changed, so one that waits for it is not kept.
            if not known[0].must_change_password:
                tags = (cache.session(bearer.session_id), cache.user(bearer.user_id))
                self._known.keep(bearer, known, tags, position=position, size=_SIZE)
        return known[0]
