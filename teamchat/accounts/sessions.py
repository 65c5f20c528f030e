"""Sessions and their refresh tokens (decisions D-11, D-12, D-13; interface, part 5 rules 11 and 12).

A session is a row; it is over when the row is gone or its `expires_at` has passed.
Whatever ends sessions appends `SessionsEnded` in the same transaction, so that their streams end with them.
Refresh tokens are stored as hashes, and each can be used once.

A session lives as long as the tokens it last gave out, and never past `ends_at`, which is
`auth.maxSessionSeconds` after sign-in.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from teamchat.accounts import keys
from teamchat.accounts.access_tokens import AccessTokens
from teamchat.accounts.audit import note, note_failure
from teamchat.accounts.records import is_bot_in, user_by_id
from teamchat.accounts.second_steps import Passed
from teamchat.capabilities.changes import NoCapabilities, TakesPart
from teamchat.errors import BadRequest, NotFound, SecondFactorNeeded, Unauthorized
from teamchat.events import SessionsEnded
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, SessionInfo, SignedIn, TokenPair, User
from teamchat.model.ids import new_id
from teamchat.observability.logs import get_logger
from teamchat.storage.parts import delete_in_parts
from teamchat.storage.statements import chunks

if TYPE_CHECKING:
    from teamchat.settings import AuthSettings

GRACE_MS = 10_000
_CLOCKS_DIFFER_MS = 60_000
"""By so much another server's clock may be ahead; beyond that, the clock was set back."""
_MAX_USER_AGENT = 256
_FORGET_TOKENS = """delete from refresh_tokens where token_hash in (select token_hash from refresh_tokens
where expires_at <= $1 order by expires_at limit {}) returning 1"""

_log = get_logger(__name__)


class _Refreshable(Struct, frozen=True):
    """A refresh token as it is kept, with what matters of its session."""

    session_id: str
    expires_at: int
    used_at: int | None
    session_expires_at: int
    ends_at: int


class Sessions:
    """The sessions of all users."""

    def __init__(
        self,
        storage: Storage,
        auth: AuthSettings,
        tokens: AccessTokens,
        clock: Callable[[], int],
        capabilities: TakesPart | None = None,
    ) -> None:
        self._capabilities = capabilities or NoCapabilities()
        self._storage = storage
        self._auth = auth
        self._tokens = tokens
        self._clock = clock

    async def start(self, user_id: str, ip: str, user_agent: str) -> SignedIn:
        """Sign a user in. Beyond `auth.maxActiveSessions` the oldest session ends.

        Raises `Unauthorized` if there is no such user (any more).
        """
        async with self._storage.write() as tx:
            return await self.start_in(tx, user_id, ip, user_agent)

    async def start_in(
        self,
        tx: Transaction,
        user_id: str,
        ip: str,
        user_agent: str,
        *,
        must_change_password: bool = False,
        passed: Passed | None = None,
    ) -> SignedIn:
        """Do what `start` does, in a transaction that is open.

        With `must_change_password` nothing else can be done in the session before that (decision D-43).
        Raises `Unauthorized` also for the account of a program, whatever was shown (extension K-2), and
        `SecondFactorNeeded` for who has a second factor, unless they have `passed` it (extension M-1).
        """
        user = await user_by_id(tx, user_id)
        if user is None or await is_bot_in(tx, user_id):
            raise Unauthorized
        step = self._capabilities.second_step
        if passed != Passed(user_id) and step is not None and await step.is_set_in(tx, user_id):
            raise SecondFactorNeeded(step.methods)
        now = self._clock()
        await self._make_room(tx, user_id, now)
        session_id, ends_at = new_id(), now + self._auth.max_session_seconds * 1000
        await tx.fetch(
            """insert into sessions
               (id, user_id, created_at, last_used_at, expires_at, ends_at, ip, user_agent,
               must_change_password) values ($1, $2, $3, $3, $4, $5, $6, $7, $8)""",
            session_id,
            user_id,
            now,
            self._session_expiry(now, ends_at),
            ends_at,
            ip,
            _cleaned(user_agent),
            int(must_change_password),
        )
        pair = await self._issue(tx, user, session_id, ends_at)
        await note(tx, "session.create", "session", session_id, by=user_id, ip=ip)
        return SignedIn(
            pair.access_token,
            pair.refresh_token,
            self._access_lifetime(now, ends_at),
            must_change_password=must_change_password or UNSET,
        )

    async def refresh(self, refresh_token: str) -> TokenPair:
        """Exchange a refresh token for a fresh pair. Raises `Unauthorized` for a bad one.

        A token that is used again more than ten seconds after its first use was stolen by somebody: its
        session ends.  Within the ten seconds it is taken for a retry after a lost answer, or for a second
        tab, and gets a fresh pair.
        """
        async with self._storage.write() as tx:
            pair = await self._rotate(tx, keys.digest(refresh_token))
        # Outside the transaction: the end of a stolen session must not be rolled back.
        if pair is None:
            raise Unauthorized("The refresh token is invalid or has expired.")
        return pair

    async def logout(self, caller: Caller, refresh_token: str | None) -> None:
        """End the session that a refresh token of the caller's belongs to (decision D-12).

        A token that is unknown or somebody else's ends nothing.  Without one, it is the caller's own
        session: a way to sign in that hands out no refresh tokens needs that (D-14).
        """
        async with self._storage.write() as tx:
            session_id: str | None = caller.session_id
            if refresh_token is not None:
                session_id = await _session_of(tx, caller.user.id, refresh_token)
            if session_id is None or not await _is_session_of(tx, caller.user.id, session_id):
                return
            await self._end(tx, caller.user.id, [session_id])
        _log.info("signed out", user=caller.user.id)

    async def list(self, caller: Caller) -> Sequence[SessionInfo]:
        """Return the caller's sessions, newest first."""
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                """select id, created_at, last_used_at, expires_at, ip, user_agent from sessions
                   where user_id = $1 and expires_at > $2 order by created_at desc, id desc""",
                caller.user.id,
                self._clock(),
            )
        return [_as_info(row, caller.session_id) for row in rows]

    async def expiries(self, session_ids: Sequence[str]) -> Mapping[str, int]:
        """Return when these sessions expire, in epoch milliseconds, without those that are over."""
        now, rows = self._clock(), []
        async with self._storage.read() as tx:
            for listed, piece in chunks(session_ids):
                rows += await tx.fetch(
                    f"select id, expires_at from sessions where id in ({listed})",  # noqa: S608
                    *piece,
                )
        return {session_id: expires_at for session_id, expires_at in rows if expires_at > now}

    async def end(
        self, caller: Caller, session_id: str | None = None, refresh_token: str | None = None
    ) -> int:
        """End sessions of the caller's and return how many (decision D-13).

        With `session_id` that one (`NotFound` if it isn't the caller's), with `refresh_token` all but
        that token's (`BadRequest` if it isn't the caller's), with neither all. `session_id` goes first.
        """
        async with self._storage.write() as tx:
            live = await self._live(tx, caller.user.id)
            chosen = await _chosen(tx, caller, live, session_id, refresh_token)
            is_all = session_id is None
            kept = next((one for one in live if one not in chosen), "") if is_all else None
            await self._end(tx, caller.user.id, chosen, kept)
        _log.info("sessions ended", user=caller.user.id, count=len(chosen))
        return len(chosen)

    async def end_all_in(self, tx: Transaction, user_id: str, *, keep: str | None = None) -> int:
        """End all sessions of a user but `keep`, in a transaction that is open; return how many."""
        rows = await tx.fetch("select id from sessions where user_id = $1", user_id)
        ended = [session_id for (session_id,) in rows if session_id != keep]
        await self._end(tx, user_id, ended, keep or "")
        return len(ended)

    def of_token(self, access_token: str) -> str:
        """Return the session of a good access token. Raises `Unauthorized` for any other."""
        return self._tokens.read(access_token).session_id

    async def end_in(self, tx: Transaction, user_id: str, session_ids: Sequence[str]) -> int:
        """End some sessions of a user, in a transaction that is open; return how many there were.

        Those that are over, or somebody else's, are passed over.
        """
        rows = await tx.fetch("select id from sessions where user_id = $1", user_id)
        ended = [session_id for (session_id,) in rows if session_id in session_ids]
        await self._end(tx, user_id, ended)
        return len(ended)

    async def password_changed_in(self, tx: Transaction, caller: Caller) -> None:
        """Free the caller's session of having to change its password, in a transaction that is open.

        Raises `Unauthorized` if the session has ended.
        """
        rows = await tx.fetch(
            """update sessions set must_change_password = 0
               where id = $1 and user_id = $2 and expires_at > $3 returning id""",
            caller.session_id,
            caller.user.id,
            self._clock(),
        )
        if not rows:
            raise Unauthorized

    async def sweep_tokens(self) -> None:
        """Remove expired refresh tokens, some in a transaction."""
        await delete_in_parts(self._storage, _FORGET_TOKENS, self._clock())

    async def sweep_in(self, tx: Transaction) -> None:
        """Remove expired sessions, whose streams end with them."""
        rows = await tx.fetch("delete from sessions where expires_at <= $1 returning id", self._clock())
        if rows:
            ended = [session_id for (session_id,) in rows]
            await tx.append(SessionsEnded(ended, have_expired=True).to())

    async def _make_room(self, tx: Transaction, user_id: str, now: int) -> None:
        rows = await tx.fetch(
            "select id, expires_at from sessions where user_id = $1 order by created_at, id", user_id
        )
        expired = [session_id for session_id, expires_at in rows if expires_at <= now]
        live = [session_id for session_id, expires_at in rows if expires_at > now]
        surplus = len(live) + 1 - self._auth.max_active_sessions
        if expired:
            await self._remove(tx, SessionsEnded(expired, have_expired=True))
        await self._end(tx, user_id, live[: max(0, surplus)])

    async def _rotate(self, tx: Transaction, token_hash: str) -> TokenPair | None:
        user = await _owner(tx, token_hash)
        if user is None:
            return None
        token = await _refreshable(tx, token_hash)
        if token is None:
            return None
        now = self._clock()
        if token.used_at is not None and not -_CLOCKS_DIFFER_MS <= now - token.used_at <= GRACE_MS:
            _log.warning("somebody used an old refresh token, so the session ends", user=user.id)
            await self._end(tx, user.id, [token.session_id])
            await note_failure(tx, user.id, way="refresh token", reason="used again")
            return None
        if min(token.expires_at, token.session_expires_at) <= now:
            return None
        await self._extend(tx, token, token_hash, now)
        return await self._issue(tx, user, token.session_id, token.ends_at)

    async def _extend(self, tx: Transaction, token: _Refreshable, token_hash: str, now: int) -> None:
        await tx.fetch(
            "update refresh_tokens set used_at = $2 where token_hash = $1 and used_at is null",
            token_hash,
            now,
        )
        await tx.fetch(
            "update sessions set last_used_at = $2, expires_at = $3 where id = $1",
            token.session_id,
            now,
            self._session_expiry(now, token.ends_at),
        )

    async def _issue(self, tx: Transaction, user: User, session_id: str, ends_at: int) -> TokenPair:
        now, refresh_token = self._clock(), secrets.token_urlsafe(32)
        await tx.fetch(
            "insert into refresh_tokens (token_hash, session_id, expires_at) values ($1, $2, $3)",
            keys.digest(refresh_token),
            session_id,
            min(now + self._auth.refresh_token_expiry_seconds * 1000, ends_at),
        )
        access_token = self._tokens.sign(user, session_id, self._access_lifetime(now, ends_at))
        return TokenPair(access_token, refresh_token)

    def _session_expiry(self, now: int, ends_at: int) -> int:
        longest = max(self._auth.refresh_token_expiry_seconds, self._auth.jwt_expiry_seconds)
        return min(now + longest * 1000, ends_at)

    def _access_lifetime(self, now: int, ends_at: int) -> int:
        return min(self._auth.jwt_expiry_seconds, -((now - ends_at) // 1000))

    async def _live(self, tx: Transaction, user_id: str) -> Sequence[str]:
        rows = await tx.fetch(
            "select id from sessions where user_id = $1 and expires_at > $2", user_id, self._clock()
        )
        return [session_id for (session_id,) in rows]

    async def _end(
        self, tx: Transaction, user_id: str, session_ids: Sequence[str], kept: str | None = None
    ) -> None:
        if kept is not None:  # All are to end: what waits for a second factor would be one more.
            await tx.fetch("delete from waiting_sign_ins where user_id = $1", user_id)
        if session_ids or kept is not None:
            await self._capabilities.in_transaction.sessions_ended(tx, user_id, session_ids, kept)
        if session_ids or kept:  # All others may have expired, and what outlives them ends as well.
            await self._remove(tx, SessionsEnded(session_ids, all_of=UNSET if kept is None else user_id))

    async def _remove(self, tx: Transaction, ended: SessionsEnded) -> None:
        for session_id in ended.session_ids:
            await tx.fetch("delete from sessions where id = $1", session_id)
        await tx.append(ended.to())


async def _chosen(
    tx: Transaction,
    caller: Caller,
    live: Sequence[str],
    session_id: str | None,
    refresh_token: str | None,
) -> Sequence[str]:
    """Return which of the caller's live sessions `Sessions.end` is to end."""
    if session_id is not None:
        if session_id not in live:
            raise NotFound("There is no such session of yours.")
        return [session_id]
    if refresh_token is None:
        return live
    kept = await _session_of(tx, caller.user.id, refresh_token)
    if kept not in live:
        raise BadRequest("refreshToken is not one of yours.")
    return [one for one in live if one != kept]


async def _owner(tx: Transaction, token_hash: str) -> User | None:
    rows = await tx.fetch(
        """select s.user_id from refresh_tokens t join sessions s on s.id = t.session_id
           where t.token_hash = $1""",
        token_hash,
    )
    return await user_by_id(tx, rows[0][0]) if rows else None


async def _refreshable(tx: Transaction, token_hash: str) -> _Refreshable | None:
    rows = await tx.fetch(
        """select t.session_id, t.expires_at, t.used_at, s.expires_at, s.ends_at
           from refresh_tokens t join sessions s on s.id = t.session_id where t.token_hash = $1""",
        token_hash,
    )
    return _Refreshable(*rows[0]) if rows else None


async def _session_of(tx: Transaction, user_id: str, refresh_token: str) -> str | None:
    rows = await tx.fetch(
        """select s.id from refresh_tokens t join sessions s on s.id = t.session_id
           where t.token_hash = $1 and s.user_id = $2""",
        keys.digest(refresh_token),
        user_id,
    )
    return rows[0][0] if rows else None


async def _is_session_of(tx: Transaction, user_id: str, session_id: str) -> bool:
    return bool(await tx.fetch("select 1 from sessions where id = $1 and user_id = $2", session_id, user_id))


def _as_info(row: Row, current: str) -> SessionInfo:
    session_id, created_at, last_used_at, expires_at, ip, user_agent = row
    is_current = session_id == current
    return SessionInfo(session_id, created_at, last_used_at, expires_at, ip, user_agent, is_current)


def _cleaned(user_agent: str) -> str:
    return "".join(character for character in user_agent[:_MAX_USER_AGENT] if character.isprintable())
