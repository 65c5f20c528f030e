"""All of accounts as one object: built once from the storage and the settings, held by the application.

`authenticate` returns user and session as they are at that moment, so a token stops working as soon as its
session has ended or its user is gone (decision D-09).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from teamchat.accounts import keys
from teamchat.accounts.access_tokens import AccessTokens
from teamchat.accounts.attempts import Limits, MailLimits, attempt
from teamchat.accounts.audit import note_failure
from teamchat.accounts.callers import Callers
from teamchat.accounts.links import Links
from teamchat.accounts.outbox import Outbox
from teamchat.accounts.proofs import Proofs, vouch_in
from teamchat.accounts.records import account_by_email, user_by_email
from teamchat.accounts.scopes import SESSION_ALONE, check_scopes
from teamchat.accounts.scrypt import Hasher
from teamchat.accounts.second_steps import SecondSteps
from teamchat.accounts.sessions import Sessions
from teamchat.accounts.users import Users
from teamchat.capabilities.changes import NoCapabilities, TakesPart
from teamchat.errors import BadRequest, Forbidden, SettingsError, Unauthorized
from teamchat.events import SessionsEnded
from teamchat.interfaces import NO_TRAITS, SignInTraits, Storage, Transaction
from teamchat.model import Caller, SignedIn, User, now_ms, text
from teamchat.observability.logs import get_logger

if TYPE_CHECKING:
    from teamchat.settings import AuthSettings, InitialUser

_GENERATED_PASSWORD_BYTES = 15

_log = get_logger(__name__)


@dataclass(frozen=True)
class Accounts:
    """Users and their sessions. `authenticate` returns who makes a request.

    A way to sign in is made of `users`, `sessions`, `limits` on guessing and `mail_limits` on asking for
    mail, `links` in mails, `proofs` of addresses, `second_steps`, and the `hasher` of passwords.
    """

    users: Users
    sessions: Sessions
    limits: Limits
    mail_limits: MailLimits
    links: Links
    proofs: Proofs
    second_steps: SecondSteps
    outbox: Outbox
    hasher: Hasher
    storage: Storage
    settings: AuthSettings
    has_mail: bool
    clock: Callable[[], int]
    """The time, in epoch milliseconds."""
    key: Callable[[str], bytes]
    """Returns the server's key for one use, which says nothing of its secret."""
    capabilities: TakesPart
    """What takes part in the changes of accounts; one may keep tokens."""
    _callers: Callers
    _sign_in: SignInTraits

    @classmethod
    def build(
        cls,
        storage: Storage,
        auth: AuthSettings,
        jwt_secret: bytes,
        *,
        has_mail: bool = False,
        sign_in: SignInTraits = NO_TRAITS,
        clock: Callable[[], int] = now_ms,
        capabilities: TakesPart | None = None,
    ) -> Self:
        """Put the parts together. Raises `SettingsError` for a secret under 32 bytes (decision D-10).

        With `has_mail`, who is added without a password is invited by mail if `sign_in` asks for one, and
        passwords can be reset.  `clock` returns the time in epoch milliseconds; `capabilities` are
        called with who is gone.
        """
        capabilities = capabilities or NoCapabilities()
        tokens, hasher = AccessTokens(jwt_secret, clock), Hasher()
        limits, mail_limits = Limits(storage, auth.rate_limit, clock), MailLimits(auth.rate_limit, clock)
        outbox = Outbox(storage, clock)
        links = Links(storage, auth, jwt_secret, outbox, clock)
        sessions = Sessions(storage, auth, tokens, clock, capabilities)
        second_steps = SecondSteps(storage, auth, limits, capabilities, clock)
        needs_invite = auth.is_invite_required
        proofs = Proofs(
            storage, sessions, second_steps, clock, is_invite_required=needs_invite, capabilities=capabilities
        )
        users = Users(
            storage,
            sessions,
            hasher,
            links,
            clock,
            capabilities,
            second_steps,
            is_invite_required=needs_invite,
            sends_invites=has_mail and sign_in.asks_for_passwords,
        )
        return cls(
            users=users,
            sessions=sessions,
            limits=limits,
            mail_limits=mail_limits,
            links=links,
            proofs=proofs,
            second_steps=second_steps,
            outbox=outbox,
            hasher=hasher,
            storage=storage,
            settings=auth,
            has_mail=has_mail,
            clock=clock,
            key=lambda use: keys.derive(jwt_secret, use),
            _callers=Callers(storage, tokens, clock, capabilities),
            capabilities=capabilities,
            _sign_in=sign_in,
        )

    async def authenticate(
        self, token: str, *, before_password_change: bool = False, scopes: Collection[str] = SESSION_ALONE
    ) -> Caller:
        """Return whose access token this is. Raises `Unauthorized` unless it is good now.

        `scopes` are those of which a token needs one that is no session's (extension K-1); it is `Forbidden`
        without, and always if none is given.  A session whose password must be changed first is `Forbidden`,
        unless `before_password_change` says that what is asked for may be had before (decision D-43). So is
        one whose user lacks the second factor that ``auth.secondFactor`` wants of them (extension M-1).
        """
        caller = await self._callers.authenticate(token)
        if caller.scopes is not None:
            check_scopes(caller, scopes)
        if (
            caller.must_change_password
            and self.settings.must_change_set_passwords
            and not before_password_change
        ):
            raise Forbidden("Change your password first (PUT /auth/password): this one was set by an admin.")
        if not before_password_change and await self.second_steps.is_missing(caller, self.as_of):
            raise Forbidden("Set up a second factor first (POST /me/second-factors): this server wants one.")
        return caller

    @property
    def as_of(self) -> int:
        """Where the log ended when the caller who was found last was looked for."""
        return self._callers.as_of

    async def check_password(self, caller: Caller, password: str, ip: str) -> None:
        """Ask a caller for their password again.

        Raises `Forbidden` for a wrong one, which is counted (D-18), `TooManyRequests` beyond the limits.
        """
        tried = attempt(caller.user.email, ip, "password asked again")
        await self.limits.check(tried)
        async with self.storage.read() as tx:
            rows = await tx.fetch("select password_hash from users where id = $1", caller.user.id)
        if not rows or not await self.hasher.matches(rows[0][0], password):
            await self.limits.fail(tried)
            raise Forbidden("The password is wrong.")
        async with self.storage.write() as tx:
            await self.limits.succeed_in(tx, tried)

    async def ask_again(self, caller: Caller) -> Caller:
        """Return a caller as they are now. Raises as `Callers.ask_again` does."""
        return await self._callers.ask_again(caller)

    async def end_streams_in(self, tx: Transaction, ids: Sequence[str]) -> None:
        """End the streams of sessions or tokens that are over, and what is remembered of them."""
        if ids:
            await tx.append(SessionsEnded(ids).to())

    def used(self, caller: Caller, ip: str) -> None:
        """Note that a caller has used a token, from an address."""
        if caller.scopes is not None and self.capabilities.credentials is not None:
            self.capabilities.credentials.used(caller.session_id, ip)

    async def expiries(self, session_ids: Sequence[str]) -> Mapping[str, int]:
        """Return when those of these sessions and tokens expire that are not over, in epoch milliseconds."""
        found = dict(await self.sessions.expiries(session_ids))
        credentials = self.capabilities.credentials
        others = [one for one in session_ids if one not in found]
        if others and credentials is not None:
            async with self.storage.read() as tx:
                now, kept = self.clock(), await credentials.expiries(tx, others)
            found |= {id_: expires_at for id_, expires_at in kept.items() if expires_at > now}
        return found

    async def sign_in(
        self,
        email: str,
        ip: str,
        user_agent: str,
        *,
        way: str | None = None,
        is_proved: bool = True,
        code: str | None = None,
    ) -> tuple[User, SignedIn]:
        """Sign in whoever has proved that `email` is theirs, created on first sign-in if that is allowed.

        `way` is how, for the log; without it, by ``auth.authMode``.  The first proof ends what the account
        had before (decision D-40); without `is_proved` it is nothing but a claim, as in dev mode.  Raises
        `BadRequest` for what can't be an email, `Unauthorized` for an unknown one when invites are required
        (interface, part 5 rule 10) and for a proof of another mailbox than the account's,
        `SecondFactorNeeded` for who has a second factor if `code` is not of it.
        """

        def is_theirs(user: User) -> bool:
            return not is_proved or text.is_same_mailbox(user.email, email)

        async with self.storage.read() as tx:
            known = await user_by_email(tx, text.email(email))
        tried = attempt(email, ip, way or self.settings.auth_mode)
        verify = self.proofs.verify if is_proved else self.second_steps.verify
        passed = await verify(tried, known.id if known and is_theirs(known) else None, code)
        try:
            async with self.storage.write() as tx:
                user = await self.users.find_or_create_in(tx, email)
                if not is_theirs(user):
                    raise Unauthorized("Nobody signs in with this email.")
                start_in = self.proofs.sign_in_in if is_proved else self.sessions.start_in
                signed_in = await start_in(tx, user.id, ip, user_agent, passed=passed)
        except Unauthorized:
            await self.note_failure(email, way=way or self.settings.auth_mode, ip=ip)
            raise
        _log.info("signed in", user=user.id, way=way or self.settings.auth_mode, ip=ip)
        return user, signed_in

    async def note_failure(self, email: str | None, *, way: str, ip: str, **details: Any) -> None:
        """Write into the log and the audit log that somebody was not signed in; `email` if it is known."""
        _log.info("sign-in failed", way=way, ip=ip)
        async with self.storage.write() as tx:
            account = None if email is None else await account_by_email(tx, email)
            await note_failure(tx, account and account.user.id, ip=ip, way=way, **details)

    async def ensure_initial_user(self, initial: InitialUser) -> str | None:
        """Create the initial admin on first start (decision D-23; interface, part 5 rules 8 and 9).

        Return the password that was made for them, to be shown once: when none is configured, and people sign
        in with passwords.  On later starts a configured password is set if the initial user has none, and
        never replaces one.  Raises `SettingsError` if ``chat.initialUser`` can't be a user.
        """
        async with self.storage.read() as tx:
            is_first, lacks_password = await _is_first_start(tx), await _lacks_password(tx, initial.email)
        if is_first:
            return await self._create_initial_user(initial)
        if lacks_password and initial.password is not None:
            password_hash = await self._hash_initial(initial.password)
            async with self.storage.write() as tx:
                await _set_missing_password(tx, initial.email, password_hash, self.clock())
        return None

    async def _create_initial_user(self, initial: InitialUser) -> str | None:
        generated = None
        if initial.password is None and self._sign_in.asks_for_passwords:
            generated = secrets.token_urlsafe(_GENERATED_PASSWORD_BYTES)
        password = initial.password if generated is None else generated
        password_hash = None if password is None else await self._hash_initial(password)
        email, name = _initial_identity(initial)
        async with self.storage.write() as tx:
            if not await _is_first_start(tx):  # another server on the same database was first
                return None
            await self.users.create_in(
                tx, email, user_name=name, is_admin=True, password_hash=password_hash, is_vouched=True
            )
        return generated

    async def _hash_initial(self, password: str) -> str:
        try:
            return await self.hasher.hash(password)
        except BadRequest as error:
            raise SettingsError(f"chat.initialUser.password can't be used: {error.sentence}") from None

    async def renew_in(self, tx: Transaction) -> None:
        """Mend what was made with another secret, in the transaction that notes the new one.

        Sessions, refresh tokens and mailed links do not hang on the secret; access tokens do, and clients
        fetch others.
        """
        await self.links.renew_in(tx)

    async def sweep(self) -> None:
        """Remove what has expired: sessions (and end their streams), refresh tokens, links, counters."""
        await self.sessions.sweep_tokens()
        await self.limits.sweep()
        async with self.storage.write() as tx:
            await self.sessions.sweep_in(tx)
            await self.links.sweep_in(tx)


def _initial_identity(initial: InitialUser) -> tuple[str, str]:
    try:
        name = text.name("userName", initial.user_name, most=text.MAX_USER_NAME)
        return text.email(initial.email), name
    except BadRequest as error:
        raise SettingsError(f"chat.initialUser can't be used: {error.sentence}") from None


async def _is_first_start(tx: Transaction) -> bool:
    return not await tx.fetch("select 1 from users limit 1")


async def _lacks_password(tx: Transaction, email: str) -> bool:
    return bool(
        await tx.fetch("select 1 from users where email_key = $1 and password_hash is null", text.fold(email))
    )


async def _set_missing_password(tx: Transaction, email: str, password_hash: str, now: int) -> None:
    for (user_id,) in await tx.fetch(
        "update users set password_hash = $2 where email_key = $1 and password_hash is null returning id",
        text.fold(email),
        password_hash,
    ):
        await vouch_in(tx, user_id, now)
