"""A sign-in at a provider, from the button to the session (decision D-20; interface, part 5 rules 13 and 14).

A state is spent, durably, before anything is asked of the provider, so that a second
callback can never exchange a code; and nothing is written of who signed in before everything is known, then
all of it at once: identity, user, session.  How often an address may begin and end sign-ins is limited.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Self

from teamchat import (
    BadRequest,
    IdentityProvider,
    NotFound,
    OAuthFailed,
    OAuthProvider,
    Profile,
    SettingsError,
    TooManyRequests,
    Transaction,
    Unavailable,
)
from teamchat.accounts import APART, Accounts, Counters, network_of
from teamchat.model import SignedIn, text
from teamchat.observability.logs import get_logger
from teamchat_auth_oauth import states
from teamchat_auth_oauth.failures import ProviderFailed, detail_of, reason_of
from teamchat_auth_oauth.identities import user_in
from teamchat_auth_oauth.providers import Configured, configured, of_identity
from teamchat_auth_oauth.states import Party

if TYPE_CHECKING:
    from teamchat.settings import RateLimit, Settings
    from teamchat_auth_oauth.client import Client

PATIENCE_SECONDS = 10.0
_CODE = re.compile(r"[\x20-\x7e]{1,8192}\Z")  # RFC 6749, appendix A.11
_MOST_SUBJECT = 255  # OpenID Connect Core, section 2

_log = get_logger(__name__)


class Start(NamedTuple):
    """Where the browser goes, and the cookie it must bring back."""

    location: str
    browser: str


class Callback(NamedTuple):
    """What the browser came back with, and from where."""

    state: str | None
    code: str | None
    error: str | None
    issuer: str | None
    browser: str | None
    ip: str
    user_agent: str


class Waiting(NamedTuple):
    """The provider has vouched for somebody who has a second factor; the ticket says so with its code."""

    ticket: str


class OAuth:
    """The configured providers, and the way through them to a session."""

    def __init__(
        self,
        found: Sequence[Configured],
        limit: RateLimit,
        accounts: Accounts,
        client: Client,
        identities: Sequence[IdentityProvider] = (),
    ) -> None:
        self._configured = {one.provider.id: one for one in found}
        self._identities = {one.id: one for one in identities}
        self._most = limit.attempts
        self._counters = Counters(limit, accounts.clock)
        self._storage = accounts.storage
        self._accounts = accounts
        self._client = client
        self._key = accounts.key("oauth")
        self._clock = accounts.clock

    @classmethod
    def build(
        cls,
        settings: Settings,
        preset: Callable[[str], OAuthProvider],
        accounts: Accounts,
        identities: Sequence[IdentityProvider] = (),
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> Self:
        """Make ready all providers of the settings. `preset` finds the built-in provider of an id.

        `identities` are those that capabilities bring. `patience` is how many seconds a provider has for all
        it is asked in one sign-in.
        """
        # Authlib takes 0.15 s to import, which a server without providers need not spend.
        from teamchat_auth_oauth.client import Client

        client = Client(patience, accounts.clock)
        missing = {one.id for one in settings.oauth.oidc} - {one.id for one in identities}
        if missing:
            raise SettingsError("oauth.oidc needs the plugin oidc; install it, or turn it on again.")
        return cls(configured(settings, preset), settings.oauth.rate_limit, accounts, client, identities)

    @property
    def providers(self) -> Sequence[OAuthProvider]:
        """The providers, in the order in which they are shown; not those that could not be asked yet."""
        found = (one.found() for one in self._identities.values())
        return [*(one.provider for one in self._configured.values()), *(one for one in found if one)]

    def at(self, provider_id: str) -> Configured:
        """Return a provider. Raises `NotFound` for an unknown id, `Unavailable` if it was not reached yet."""
        if provider_id in self._configured:
            return self._configured[provider_id]
        if provider_id not in self._identities:
            raise NotFound("There is no such provider.")
        found = of_identity(self._identities[provider_id], self._accounts.settings.app_url)
        if found is None:
            raise Unavailable("The provider can't be reached now. Try again later.", 60)
        return found

    def _knows(self, provider_id: str) -> bool:
        return provider_id in self._configured or provider_id in self._identities

    async def start(self, provider_id: str, ip: str, browser: str | None) -> Start:
        """Begin a sign-in. `browser` is the cookie it brought: kept if it is one, so that two tabs work.

        Raises `NotFound` for an unknown provider, `TooManyRequests` beyond ``oauth.rateLimit``.
        """
        at, now = self.at(provider_id), self._clock()
        kept = browser if browser is not None and states.is_token(browser) else states.new_token()
        async with self._storage.write() as tx:
            await self._count_in(tx, "start", ip)
            state = await states.begin_in(tx, Party(provider_id, ip, kept), now)
        location = self._client.authorization_url(at, state, states.proofs(self._key, state))
        return Start(location, kept)

    async def finish(self, provider_id: str, callback: Callback) -> SignedIn | Waiting:
        """End a sign-in with a session, or with a ticket where a second factor is wanted.

        Raises `OAuthFailed`, whatever goes wrong; writes a line of log.
        """
        try:
            user_id, signed_in = await self._finish(provider_id, callback)
        except Exception as error:
            failure = _as_failure(error)
            self._tell(provider_id, callback.ip, failure, error)
            if failure.reason not in ("rate_limited", "server_error"):
                await self._accounts.note_failure(None, way="oauth", ip=callback.ip, reason=failure.reason)
            raise failure from error
        if isinstance(signed_in, SignedIn):
            _log.info("signed in", user=user_id, way="oauth", provider=provider_id, ip=callback.ip)
        return signed_in

    async def _finish(self, provider_id: str, callback: Callback) -> tuple[str, SignedIn | Waiting]:
        state = await self._spend(provider_id, callback)
        at = self.at(provider_id)
        proofs = states.proofs(self._key, state)
        profile = _checked(await self._client.profile(at, _code(at, callback), proofs))
        now = self._clock()
        async with self._storage.write() as tx:
            is_only = at.identity is not None
            user = await user_in(tx, self._accounts.users, provider_id, profile, now, is_only=is_only)
            if at.identity is not None:
                await at.identity.admit_in(tx, user, profile)
            # Somebody known may have another email by now, which proves nothing of the one they have here.
            is_proved = text.is_same_mailbox(user.email, profile.email)
            steps = self._accounts.second_steps
            if await steps.is_needed_in(tx, user.id):
                if is_proved:
                    await self._accounts.proofs.note_in(tx, user.id)
                if at.identity is not None:
                    await at.identity.signed_in_in(tx, user, profile, None)
                ticket = await steps.ticket_in(tx, user.id, is_proved=is_proved, way="oauth")
                return user.id, Waiting(ticket)
            start_in = self._accounts.proofs.sign_in_in if is_proved else self._accounts.sessions.start_in
            signed_in = await start_in(tx, user.id, callback.ip, callback.user_agent)
            if at.identity is not None:
                session_id = self._accounts.sessions.of_token(signed_in.access_token)
                await at.identity.signed_in_in(tx, user, profile, session_id)
        return user.id, signed_in

    async def _spend(self, provider_id: str, callback: Callback) -> str:
        """Count the callback, and return its state, which is spent by now."""
        state, now = callback.state, self._clock()
        is_good = False
        async with self._storage.write() as tx:
            await self._count_in(tx, "end", callback.ip)
            if state is not None and states.is_token(state):
                party = Party(provider_id, callback.ip, callback.browser or "")
                is_good = await states.spend_in(tx, state, party, now)
        # Outside the transaction: what a wrong party has spent must stay spent.
        if state is None or not is_good or not self._knows(provider_id):
            raise OAuthFailed("invalid_state")
        return state

    async def _count_in(self, tx: Transaction, what: str, ip: str) -> None:
        await self._counters.admit(tx, f"{APART}{what}:{network_of(ip)}", self._most)

    def _tell(self, provider_id: str, ip: str, failure: OAuthFailed, error: Exception) -> None:
        """Write the line of a failure; only one of our own, which nobody expected, says where it arose.

        None for what is beyond the limit, of which there is no end: it was told of as often as is allowed.
        """
        if failure.reason == "rate_limited":
            return
        is_ours = failure.reason == "server_error"
        _log.log(
            logging.ERROR if is_ours else logging.WARNING,
            "oauth sign-in failed",
            provider=provider_id if self._knows(provider_id) else None,
            reason=failure.reason,
            detail=detail_of(failure),
            ip=ip,
            exc_info=error if is_ours else None,
        )


def _code(at: Configured, callback: Callback) -> str:
    """Return the code, if this is an answer of the provider's, and one that grants."""
    issuer = at.provider.issuer
    is_missing = at.provider.tells_issuer and callback.issuer is None
    if issuer is not None and (is_missing or callback.issuer not in (None, issuer)):
        raise ProviderFailed("another issuer", "invalid_state")  # RFC 9207, section 2.4
    if callback.error is not None:
        raise OAuthFailed("access_denied" if callback.error == "access_denied" else "provider_error")
    if callback.code is None or not _CODE.match(callback.code):
        raise OAuthFailed("invalid_code")
    return callback.code


def _checked(profile: Profile) -> Profile:
    """Return what can be kept, whatever function read it; refuse the rest."""
    try:
        subject, email = text.storable("subject", profile.subject), text.email(profile.email)
        kept = replace(profile, subject=subject, email=email)
    except (BadRequest, TypeError) as error:
        raise ProviderFailed("a profile that can't be kept") from error
    if not 0 < len(kept.subject) <= _MOST_SUBJECT:
        raise ProviderFailed("a profile that can't be kept")
    return kept


def _as_failure(error: Exception) -> OAuthFailed:
    if isinstance(error, TooManyRequests):
        return OAuthFailed("rate_limited")
    if isinstance(error, OAuthFailed):
        return ProviderFailed(detail_of(error), reason_of(error))
    return ProviderFailed(type(error).__name__, "server_error")


async def sweep(accounts: Accounts, limit: RateLimit) -> None:
    """Remove states and counters whose time is over."""
    async with accounts.storage.write() as tx:
        await states.sweep_in(tx, accounts.clock())
    await Counters(limit, accounts.clock).sweep(accounts.storage, apart=True)
