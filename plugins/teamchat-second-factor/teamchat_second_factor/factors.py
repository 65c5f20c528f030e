"""Setting up second factors, and taking them away (extension M).

Who sets one up has just signed in, or gives the password again, and a code where there is a factor already:
a session that was left open, or stolen, is not enough.  The first factor ends all other sessions, which were
begun without it.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from teamchat import BadRequest, Changes, CodeNeeded, Conflict, Forbidden, KeyedRequest, NotFound, Transaction
from teamchat.accounts import attempt
from teamchat.model import Caller, Cursor
from teamchat_second_factor import recovery, totp

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_second_factor.codes import Codes
    from teamchat_second_factor.sealing import Sealer

RECENT_MS = 5 * 60_000
"""So long after a sign-in nothing is asked again."""
PENDING_MS = 60 * 60_000
"""So long a factor may wait to be confirmed."""
MOST = 5
WAY = "second factor"
_MOST_ISSUER = 40
_LISTED = """select id, created_at, last_used_at from second_factor_totp
where user_id = $1 and confirmed_at is not null and (created_at > $2 or (created_at = $2 and id > $3))
order by created_at, id limit $4"""
_FORGET_PENDING = "delete from second_factor_totp where user_id = $1 and confirmed_at is null"


class SecondFactor(Struct, frozen=True, rename="camel"):
    """A factor that counts. Times are epoch milliseconds."""

    id: str
    created_at: int
    last_used_at: int | None
    type: str = "totp"


class Own(Struct, frozen=True, rename="camel"):
    """What a user has: factors, and recovery codes that are left; and whether the server wants a factor.

    `next` is the cursor to the factors that follow.
    """

    second_factors: Sequence[SecondFactor]
    recovery_codes_left: int
    is_required: bool
    next: str | None


class Begun(Struct, frozen=True, rename="camel"):
    """A factor to be confirmed: its secret in Base32, its ``otpauth`` address, and that as a QR code."""

    id: str
    secret: str
    uri: str
    qr_code: str


class Going(Changes):
    """Nothing is kept of who is no user any more, and what waits ends with who is shut out."""

    async def user_deactivated(self, tx: Transaction, user_id: str) -> None:
        """Remove a factor that was not confirmed."""
        await tx.fetch(_FORGET_PENDING, user_id)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Remove the factors and recovery codes."""
        await tx.fetch("delete from second_factor_totp where user_id = $1", user_id)
        await recovery.forget_in(tx, user_id)


class Factors:
    """The factors of a server's users, as they manage their own."""

    def __init__(self, app: Teamchat, sealer: Sealer, codes: Codes) -> None:
        self._app = app
        self._sealer = sealer
        self._codes = codes

    async def own(self, caller: Caller, limit: int = MOST, cursor: str | None = None) -> Own:
        """Return what the caller has: up to `limit` factors, oldest first (X-11)."""
        after = Cursor(0, "") if cursor is None else Cursor.checked(cursor)
        async with self._app.storage.read() as tx:
            rows = await tx.fetch(_LISTED, caller.user.id, *after, limit + 1)
            left = await recovery.left_in(tx, caller.user.id)
        is_required = self._app.accounts.second_steps.is_demanded_of(caller.user)
        shown = [SecondFactor(*row) for row in rows[:limit]]
        follows = Cursor(shown[-1].created_at, shown[-1].id).text if len(rows) > limit else None
        return Own(shown, left, is_required, follows)

    async def check_own(self, caller: Caller, id_: str) -> None:
        """Raise `NotFound` for a factor that is none of the caller's."""
        async with self._app.storage.read() as tx:
            await self._is_confirmed(tx, caller.user.id, id_)

    async def begin(
        self, caller: Caller, ip: str, password: str | None, code: str | None, key: str | None = None
    ) -> Begun:
        """Make a secret, which counts once it is confirmed; one that waits already is forgotten.

        `key` is the Idempotency-Key: one that has made a secret is `Conflict`, for it was shown.  Raises
        `Forbidden` for who has not signed in just now and gives no right password, or no right code where one
        is wanted; `BadRequest` for more than there may be.
        """
        await self._check_recent(caller, ip, password, code)
        user, now = caller.user, self._app.accounts.clock()
        id_, secret = secrets.token_hex(16), totp.new_secret()
        sealed = self._sealer.seal(secret, f"{user.id}:{id_}")
        async with self._app.storage.write() as tx:
            await KeyedRequest(user.id, "second-factor", key).spend(tx)
            await tx.fetch(_FORGET_PENDING, user.id)
            if await self._count(tx, user.id) >= MOST:
                raise BadRequest(f"{MOST} second factors are enough. Remove one first.")
            await tx.fetch(
                "insert into second_factor_totp (id, user_id, secret, created_at) values ($1, $2, $3, $4)",
                id_,
                user.id,
                sealed,
                now,
            )
            issuer = await self._app.server_name(tx)
        uri = totp.address(secret, issuer[:_MOST_ISSUER], user.email)
        return Begun(id_, totp.in_base32(secret), uri, await trio.to_thread.run_sync(_drawn, uri))

    async def confirm(self, caller: Caller, id_: str, code: str, ip: str) -> list[str]:
        """Let a factor count, for its first code; return the recovery codes, which replace all before.

        Raises `NotFound` for none of the caller's, `Conflict` for one that is confirmed, `BadRequest` for a
        wrong code, which is counted, `TooManyRequests` beyond the limits.
        """
        user, made = caller.user, list[str]()
        tried, steps = attempt(user.email, ip, WAY), self._app.accounts.second_steps
        async with self._app.storage.write() as tx:
            sealed = await self._waiting(tx, user.id, id_)
            is_good = await self._codes.use_in(tx, user.id, id_, sealed, 0, code)
            await steps.count_in(tx, tried, user.id, is_good=is_good)
            if is_good:
                made = await self._settle(tx, caller, id_)
        if not is_good:
            raise BadRequest("This code is wrong. Is the clock of your phone right?")
        return made

    async def remove(self, caller: Caller, id_: str, ip: str, code: str | None) -> None:
        """Take a factor away; with the last one go the recovery codes.

        Raises `NotFound` for none of the caller's, `Forbidden` for who has not signed in just now and gives
        no right code, and for the last one where the server wants one; `Conflict` for one that was confirmed
        while it was looked at.
        """
        user_id = caller.user.id
        async with self._app.storage.read() as tx:
            is_confirmed = await self._is_confirmed(tx, user_id, id_)
        if is_confirmed and not await self._is_recent(caller):
            await self._check_code(caller, ip, code)
        async with self._app.storage.write() as tx:
            if await self._is_confirmed(tx, user_id, id_) != is_confirmed:
                raise Conflict("This second factor was confirmed meanwhile. Try again.")
            await tx.fetch("delete from second_factor_totp where id = $1 and user_id = $2", id_, user_id)
            if is_confirmed and not await self._count(tx, user_id):
                if await self._app.accounts.second_steps.is_missing_in(tx, user_id):
                    raise Forbidden("This server wants a second factor of you. Set up another one first.")
                await recovery.forget_in(tx, user_id)
            if is_confirmed:
                await self._app.audit.note(tx, "second-factor.remove", "user", user_id)

    async def _settle(self, tx: Transaction, caller: Caller, id_: str) -> list[str]:
        user_id = caller.user.id
        if not await self._count(tx, user_id):
            await self._app.accounts.sessions.end_all_in(tx, user_id, keep=caller.session_id)
        now = self._app.accounts.clock()
        await tx.fetch("update second_factor_totp set confirmed_at = $2 where id = $1", id_, now)
        await self._app.audit.note(tx, "second-factor.add", "user", user_id)
        return await recovery.renew_in(tx, user_id)

    async def _waiting(self, tx: Transaction, user_id: str, id_: str) -> str:
        """Return the sealed secret of a factor that waits to be confirmed."""
        if await self._is_confirmed(tx, user_id, id_):
            raise Conflict("This second factor is confirmed already.")
        since = self._app.accounts.clock() - PENDING_MS
        rows = await tx.fetch(
            "select secret from second_factor_totp where id = $1 and created_at > $2", id_, since
        )
        if not rows:
            raise NotFound("There is no such second factor of yours.")
        return str(rows[0][0])

    async def _is_confirmed(self, tx: Transaction, user_id: str, id_: str) -> bool:
        rows = await tx.fetch(
            "select confirmed_at from second_factor_totp where id = $1 and user_id = $2", id_, user_id
        )
        if not rows:
            raise NotFound("There is no such second factor of yours.")
        return rows[0][0] is not None

    async def _count(self, tx: Transaction, user_id: str) -> int:
        [(count,)] = await tx.fetch(
            "select count(*) from second_factor_totp where user_id = $1 and confirmed_at is not null", user_id
        )
        return int(count)

    async def _check_recent(self, caller: Caller, ip: str, password: str | None, code: str | None) -> None:
        if await self._is_recent(caller):
            return
        if password is None:
            raise Forbidden("Sign in anew, or send your password once more as password.")
        await self._app.accounts.check_password(caller, password, ip)
        async with self._app.storage.read() as tx:
            has_one = await self._codes.is_set_in(tx, caller.user.id)
        if has_one:
            await self._check_code(caller, ip, code)

    async def _check_code(self, caller: Caller, ip: str, code: str | None) -> None:
        if code is None:
            raise CodeNeeded(
                "Sign in anew, or send a code of your second factor as code.", self._codes.methods
            )
        tried = attempt(caller.user.email, ip, WAY)
        if not await self._app.accounts.second_steps.try_code(tried, caller.user.id, code):
            raise CodeNeeded("This code is wrong, or was used already.", self._codes.methods)

    async def _is_recent(self, caller: Caller) -> bool:
        now = self._app.accounts.clock()
        return any(
            one.is_current_session and 0 <= now - one.created_at < RECENT_MS
            for one in await self._app.accounts.sessions.list(caller)
        )


def _drawn(uri: str) -> str:
    import segno  # loaded when somebody sets a factor up

    written = io.BytesIO()
    segno.make(uri, micro=False, error="m").save(
        written, kind="svg", xmldecl=False, scale=4, border=4, light="#fff"
    )
    return written.getvalue().decode()
