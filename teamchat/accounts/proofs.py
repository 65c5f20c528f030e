"""The first proof of an address (decision D-40).

Whoever registers does not prove that the email is theirs, so somebody else may take the account before its
owner comes. The owner then gets the account, and what existed before their proof ends: every session and the
password. A second factor stays (extension M), because somebody who reads the owner's mail must not get rid of
it. An admin who gives somebody a password vouches for them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from teamchat.accounts.attempts import Attempt
from teamchat.accounts.audit import note
from teamchat.accounts.records import is_first_proof_in
from teamchat.accounts.scrypt import nobodys_hash
from teamchat.accounts.second_steps import Passed, SecondSteps
from teamchat.accounts.sessions import Sessions
from teamchat.capabilities.changes import NoCapabilities, TakesPart
from teamchat.errors import SecondFactorNeeded
from teamchat.interfaces import Storage, Transaction
from teamchat.model import SignedIn
from teamchat.observability.logs import get_logger

_log = get_logger(__name__)


class Proofs:
    """Whose address was proved, and what the first proof ends."""

    def __init__(
        self,
        storage: Storage,
        sessions: Sessions,
        second_steps: SecondSteps,
        clock: Callable[[], int],
        *,
        is_invite_required: bool,
        capabilities: TakesPart | None = None,
    ) -> None:
        self._capabilities = capabilities or NoCapabilities()
        self._storage = storage
        self._sessions = sessions
        self._second_steps = second_steps
        self._clock = clock
        self._is_invite_required = is_invite_required

    async def verify(self, tried: Attempt, user_id: str | None, code: str | None) -> Passed | None:
        """Ask who has just proved their address for their second factor, as `SecondSteps.verify` does.

        What the first proof ends has ended, too, when `SecondFactorNeeded` is raised.
        """
        try:
            return await self._second_steps.verify(tried, user_id, code)
        except SecondFactorNeeded:
            if user_id is not None:
                async with self._storage.write() as tx:
                    await self.note_in(tx, user_id)
            raise

    async def sign_in_in(
        self, tx: Transaction, user_id: str, ip: str, user_agent: str, *, passed: Passed | None = None
    ) -> SignedIn:
        """Sign in somebody who has just proved their address, in a transaction that is open.

        Raises `Unauthorized` if there is no such user (any more).
        """
        has_ended = await self.note_in(tx, user_id)
        return telling(await self._sessions.start_in(tx, user_id, ip, user_agent, passed=passed), has_ended)

    async def note_in(self, tx: Transaction, user_id: str) -> bool:
        """Note a proof, in a transaction that is open; return whether it ended a session or a password."""
        rows = await tx.fetch("select email_proved_at, password_hash from users where id = $1", user_id)
        if not rows or rows[0][0]:
            return False
        is_first = await is_first_proof_in(tx, user_id, is_invite_required=self._is_invite_required)
        await tx.fetch("update users set email_proved_at = $2 where id = $1", user_id, self._clock())
        if not is_first:
            return False
        password_hash = rows[0][1]
        count = await self._sessions.end_all_in(tx, user_id)
        await self._capabilities.in_transaction.address_proved(tx, user_id)
        had_password = password_hash is not None
        if had_password:
            await _end_password(tx, user_id)
        if not count and not had_password:
            return False
        await note(tx, "user.proof", "user", user_id, endedSessions=count, endedPassword=had_password)
        _log.warning("an address was proved, so what came before ended", user=user_id, sessions=count)
        return True


def telling(signed_in: SignedIn, has_ended: bool) -> SignedIn:
    """Return a sign-in, with whether its proof ended what came before it."""
    return replace(signed_in, earlier_access_ended=True) if has_ended else signed_in


async def vouch_in(tx: Transaction, user_id: str, now: int) -> None:
    """Note that the operator or an admin vouches for a user, in a transaction that is open."""
    await tx.fetch(
        """update users set email_proved_at = $2
           where id = $1 and (email_proved_at is null or email_proved_at = 0)""",
        user_id,
        now,
    )


async def _end_password(tx: Transaction, user_id: str) -> None:
    # There still is one, though nobody knows it: who has a password may have a link to another mailed.
    await tx.fetch(
        "update users set password_hash = $2, password_from_admin = 0 where id = $1", user_id, nobodys_hash()
    )
