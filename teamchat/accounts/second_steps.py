"""The second step of signing in, for all ways to sign in (extensions M-1 and M-2).

If a user has a second factor, `Sessions.start_in` begins no session without a `Passed`, so a way to sign in
that knows nothing of second factors refuses them. A code is checked, used up and counted in one transaction,
before the one that begins the session: if many are tried at once, no more than the limit are checked, and
each is valid once. Somebody with the first proof may try `auth.rateLimit.attempts` codes in a window, from
all addresses together, in addition to the limit of each address (decision D-18).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from teamchat.accounts import keys
from teamchat.accounts.attempts import Attempt, Limits
from teamchat.accounts.audit import note_challenge
from teamchat.accounts.counters import Counters
from teamchat.accounts.records import user_by_id
from teamchat.capabilities.changes import TakesPart
from teamchat.capabilities.second_step import SecondStep
from teamchat.errors import BadRequest, SecondFactorNeeded, Unauthorized
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, User
from teamchat.observability.logs import get_logger
from teamchat.storage import cache
from teamchat.storage.statements import chunks

if TYPE_CHECKING:
    from teamchat.settings import AuthSettings

TICKET_SECONDS = 600
_SIZE = 500
_MOST_BYTES = 4 * 1024 * 1024
_WAITING = "select user_id, is_proved, expires_at from waiting_sign_ins"
_SPEND = "delete from waiting_sign_ins where hash = $1 returning user_id, is_proved, expires_at"

_log = get_logger(__name__)


class Passed(NamedTuple):
    """A user has shown their second factor."""

    user_id: str


class Ticket(NamedTuple):
    """A first proof that waits for the second, and whether it proved the address (decision D-40)."""

    user: User
    is_proved: bool


class SecondSteps:
    """Asks for second factors. `clock` tells epoch milliseconds."""

    def __init__(
        self,
        storage: Storage,
        auth: AuthSettings,
        limits: Limits,
        capabilities: TakesPart,
        clock: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._demanded = auth.second_factor
        self._most = auth.rate_limit.attempts
        self._limits = limits
        self._counters = Counters(auth.rate_limit, clock)
        self._capabilities = capabilities
        self._clock = clock
        self._known = cache.ReadCache(storage, _MOST_BYTES, capabilities.event_types)

    @property
    def step(self) -> SecondStep | None:
        """What tells who has a second factor; None where no capability does."""
        return self._capabilities.second_step

    async def verify(self, tried: Attempt, user_id: str | None, code: str | None) -> Passed | None:
        """Return that a user may go on, whose first proof was right; None if they have no second factor.

        Raises `SecondFactorNeeded` without a code or for a wrong one, which is counted; `TooManyRequests`
        beyond the limits.
        """
        step = self.step
        if step is None or user_id is None:
            return None
        async with self._storage.read() as tx:
            if not await self.is_needed_in(tx, user_id):
                return None
        if code is None:
            async with self._storage.write() as tx:
                await note_challenge(tx, user_id, ip=tried.ip, way=tried.way)
            raise SecondFactorNeeded(step.methods)
        if await self.try_code(tried, user_id, code):
            return Passed(user_id)
        raise SecondFactorNeeded(step.methods, is_wrong=True)

    async def try_code(self, tried: Attempt, user_id: str, code: str) -> bool:
        """Return whether a code is good; it is spent, or else counted. Raises `TooManyRequests`."""
        step = self.step
        if step is None:
            return False
        async with self._storage.write() as tx:
            is_good = await step.check_in(tx, user_id, code)
            await self.count_in(tx, tried, user_id, is_good=is_good)
        if not is_good:
            _log.info("second factor failed", user=user_id, way=tried.way, ip=tried.ip)
        return is_good

    async def count_in(self, tx: Transaction, tried: Attempt, user_id: str, *, is_good: bool) -> None:
        """Count a code that was looked at in this transaction; a good one takes the count back.

        Raises `TooManyRequests` beyond the limits, and what was done in the transaction is undone.
        """
        subject = f"codes:{user_id}"
        await self._counters.refuse_full(tx, subject, self._most)
        if is_good:
            await self._limits.refuse_in(tx, tried)
            await tx.fetch("delete from attempts where subject = $1", subject)
        else:
            await self._limits.fail_in(tx, tried, secondFactor=True)
            await self._counters.add(tx, subject)

    async def is_needed_in(self, tx: Transaction, user_id: str) -> bool:
        """Return whether no session of a user begins without a second factor."""
        step = self.step
        return step is not None and await step.is_set_in(tx, user_id)

    def is_demanded_of(self, user: User) -> bool:
        """Return whether `auth.secondFactor` wants a user to have one."""
        return self._demands(is_admin=user.is_admin)

    async def missing_in(self, tx: Transaction, user_ids: Sequence[str]) -> set[str]:
        """Return which of these users have to set one up first. A bot can't."""
        step, found = self.step, set[str]()
        if step is None or self._demanded == "optional":
            return found
        for marks, piece in chunks(user_ids):
            rows = await tx.fetch(
                f"""select id, is_admin from users where id in ({marks}) and is_bot = 0
                and removed_at is null and deactivated_at is null""",  # noqa: S608
                *piece,
            )
            demanded = [user_id for user_id, is_admin in rows if self._demands(is_admin=bool(is_admin))]
            found |= {user_id for user_id in demanded if not await step.is_set_in(tx, user_id)}
        return found

    def _demands(self, *, is_admin: bool) -> bool:
        return self._demanded == "all" or (self._demanded == "admins" and is_admin)

    async def is_missing_in(self, tx: Transaction, user_id: str) -> bool:
        """Return whether a user has to set one up first."""
        return bool(await self.missing_in(tx, [user_id]))

    async def is_missing(self, caller: Caller, as_of: int) -> bool:
        """Return whether a caller, found `as_of` an end of the log, has to set one up first.

        That somebody has one is remembered until their session ends, as it does when an operator takes it
        away, or the user changes: who it is not demanded of may take it away, and become an admin after that.
        """
        # By a token without the scope `admin` an admin is none, and must have one all the same.
        may_be_admin = caller.scopes is not None and self._demanded == "admins"
        if self.step is None or not (may_be_admin or self.is_demanded_of(caller.user)):
            return False
        position = await self._known.catch_up(as_of)
        if self._known.get(caller.session_id) is not None:
            return False
        async with self._storage.read() as tx:
            if await self.is_missing_in(tx, caller.user.id):
                return True
        tags = (cache.session(caller.session_id), cache.user(caller.user.id))
        self._known.keep(caller.session_id, True, tags, position=position, size=_SIZE)
        return False

    async def ticket_in(self, tx: Transaction, user_id: str, *, is_proved: bool, way: str) -> str:
        """Return what stands for a first proof, where the code comes in another request.

        `way` is how it was shown, for the audit log.
        It is good for ten minutes, for one session, and until the user's sessions are ended.
        """
        ticket, now = secrets.token_urlsafe(32), self._clock()
        await note_challenge(tx, user_id, way=way)
        await tx.fetch("delete from waiting_sign_ins where expires_at <= $1", now)
        await tx.fetch(
            "insert into waiting_sign_ins (hash, user_id, is_proved, expires_at) values ($1, $2, $3, $4)",
            *(keys.digest(ticket), user_id, int(is_proved), now + TICKET_SECONDS * 1000),
        )
        return ticket

    async def redeem(self, ticket: str) -> Ticket:
        """Return whose first proof a ticket is of, before the code is looked at.

        Raises `BadRequest` for one that is not good now, `Unauthorized` for one of who may not sign in.
        """
        async with self._storage.read() as tx:
            rows = await tx.fetch(f"{_WAITING} where hash = $1", keys.digest(ticket))
            return await self._ticket(tx, rows)

    async def spend_in(self, tx: Transaction, ticket: str) -> Ticket:
        """Return the same in the transaction in which the session begins; the ticket is spent with it."""
        rows = await tx.fetch(_SPEND, keys.digest(ticket))
        return await self._ticket(tx, rows)

    async def _ticket(self, tx: Transaction, rows: Sequence[Row]) -> Ticket:
        if not rows or rows[0][2] <= self._clock():
            raise _unusable()
        user = await user_by_id(tx, rows[0][0])
        if user is None:
            raise Unauthorized
        return Ticket(user, bool(rows[0][1]))


def _unusable() -> BadRequest:
    return BadRequest("The sign-in has taken too long. Begin again.")
