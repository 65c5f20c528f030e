"""The endpoints of second factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from teamchat.accounts import attempt
from teamchat.model import Caller, SignedIn
from teamchat.observability.logs import get_logger
from teamchat.web import SESSION_ALONE, Answer, Section, Success, Visitor, read_limit
from teamchat_second_factor.factors import WAY, Begun, Factors, Own

if TYPE_CHECKING:
    from teamchat import Teamchat

_log = get_logger(__name__)


class NewFactor(Struct, frozen=True):
    """A factor to be set up.

    `password` is wanted, and `code` where there is a factor already, unless one has just signed in.
    """

    type: Literal["totp"]
    password: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class FactorCode(Struct, frozen=True):
    """The code that an app shows."""

    code: str


class Removal(Struct, frozen=True):
    """A code of the factor, unless one has just signed in."""

    code: str | UnsetType = UNSET


class SecondProof(Struct, frozen=True):
    """What a sign-in elsewhere was answered with, and the code."""

    ticket: str
    code: str


class OwnFactors(Answer, Own, frozen=True):
    """One's second factors."""


class NewSecret(Answer, Begun, frozen=True):
    """A factor to be confirmed."""


class Confirmed(Answer, frozen=True):
    """The recovery codes, shown this once."""

    recovery_codes: Sequence[str]
    success: bool = True


def section_for(app: Teamchat, factors: Factors) -> Section:
    """Return the endpoints; all but signing in can be had where a factor must be set up first."""
    section = Section("second factors")
    endpoint = section.endpoint

    async def check_own(caller: Caller, factor_id: str) -> None:
        await factors.check_own(caller, factor_id)

    @endpoint(
        "GET",
        "/me/second-factors",
        answer=OwnFactors,
        query=("limit", "cursor"),
        scopes=SESSION_ALONE,
        before_password_change=True,
    )
    async def list_second_factors(caller: Caller, limit: str | None, cursor: str | None) -> OwnFactors:
        """List one's second factors, oldest first, and how many recovery codes are left."""
        return OwnFactors(**asdict(await factors.own(caller, read_limit(limit), cursor)))

    @endpoint(
        "POST",
        "/me/second-factors",
        body=NewFactor,
        answer=NewSecret,
        scopes=SESSION_ALONE,
        before_password_change=True,
        statuses=[409],
    )
    async def begin_second_factor(
        caller: Caller, visitor: Visitor, body: NewFactor, key: str | None
    ) -> NewSecret:
        """Make a secret for an app; it counts once it is confirmed by its first code."""
        begun = await factors.begin(caller, visitor.ip, body.password or None, body.code or None, key)
        return NewSecret(begun.id, begun.secret, begun.uri, begun.qr_code)

    @endpoint(
        "PUT",
        "/me/second-factors/:factorId",
        body=FactorCode,
        answer=Confirmed,
        first=check_own,
        scopes=SESSION_ALONE,
        before_password_change=True,
    )
    async def confirm_second_factor(
        caller: Caller, visitor: Visitor, factor_id: str, body: FactorCode
    ) -> Confirmed:
        """Confirm a second factor by a code, and read the recovery codes, once."""
        return Confirmed(await factors.confirm(caller, factor_id, body.code, visitor.ip))

    @endpoint(
        "DELETE",
        "/me/second-factors/:factorId",
        body=Removal,
        answer=Success,
        first=check_own,
        optional=True,
        scopes=SESSION_ALONE,
        before_password_change=True,
    )
    async def remove_second_factor(
        caller: Caller, visitor: Visitor, factor_id: str, body: Removal
    ) -> Success:
        """Take a second factor away."""
        await factors.remove(caller, factor_id, visitor.ip, body.code or None)
        return Success()

    @endpoint("POST", "/auth/second-factor", body=SecondProof, answer=SignedIn, open=True)
    async def finish_sign_in(visitor: Visitor, body: SecondProof) -> SignedIn:
        """End a sign-in at another provider, which has led back with a ticket, by a code."""
        return await finish(app, visitor, body)

    return section


async def finish(app: Teamchat, visitor: Visitor, body: SecondProof) -> SignedIn:
    """Begin the session that a ticket and a code are for."""
    accounts = app.accounts
    waiting = await accounts.second_steps.redeem(body.ticket)
    user_id = waiting.user.id
    tried = attempt(waiting.user.email, visitor.ip, WAY)
    await accounts.limits.check(tried)
    passed = await accounts.second_steps.verify(tried, user_id, body.code)
    start_in = accounts.proofs.sign_in_in if waiting.is_proved else accounts.sessions.start_in
    async with app.storage.write() as tx:
        await accounts.second_steps.spend_in(tx, body.ticket)
        await accounts.limits.succeed_in(tx, tried)
        signed_in = await start_in(tx, user_id, visitor.ip, visitor.user_agent, passed=passed)
    _log.info("signed in", user=user_id, way=WAY, ip=visitor.ip)
    return signed_in
