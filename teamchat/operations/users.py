"""Users, as the operator manages them: adding, listing, promoting, demoting, removing, new passwords.

The rules are those of `teamchat.accounts`, but the operator needs no account. What is done is in the event
log, so running servers and listening clients follow at once.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import cast

from teamchat.accounts import Accounts
from teamchat.accounts.audit import note
from teamchat.accounts.records import Account, account_by_email, account_by_id, is_bot_in
from teamchat.accounts.scrypt import Hasher
from teamchat.application import Application
from teamchat.capabilities import ChangeFailed
from teamchat.chat import Chat
from teamchat.errors import BadRequest, OperatorError, Problem, SettingsError
from teamchat.events import StreamsEnded
from teamchat.interfaces import ImageStore, Storage, Transaction
from teamchat.model import ListedUser, User, text
from teamchat.operations.installation import Installation
from teamchat.settings import jwt_secret
from teamchat.storage.capability_tables import refuse_older
from teamchat.stream import Hub

_GENERATED_BYTES = 15


@dataclass(frozen=True)
class UserOffice:
    """What an operator does with users. Made by `open_users`; every error is an `OperatorError`."""

    _storage: Storage
    _accounts: Accounts
    _sends_mail: bool
    asks_for_passwords: bool
    """Whether people sign in with passwords."""
    passwords_must_change: bool
    """Whether a password that is set here must be changed at the next sign-in (decision D-43)."""

    async def list(self) -> Sequence[ListedUser]:
        """Return everyone who is a user now, in the order in which they came."""
        return await self._accounts.users.list()

    async def add(
        self, email: str, *, name: str | None, is_admin: bool, password: str | None, by_mail: bool = False
    ) -> User:
        """Add a user. With `by_mail` a running server mails them a link with which they set a password."""
        if by_mail:
            self._require_mail()
        with _reported_to_operator():
            text.email(email)
            if name is not None:
                name = text.name("--name", name, most=text.MAX_USER_NAME)
            password_hash = None if password is None else await Hasher().hash(password)
            async with self._storage.write() as tx:
                user = await self._accounts.users.create_in(
                    tx,
                    email,
                    user_name=name,
                    is_admin=is_admin,
                    password_hash=password_hash,
                    from_admin=password is not None,
                )
                if by_mail:
                    await self._accounts.links.issue_in(tx, "invite", user.email)
        return user

    async def set_role(self, who: str, *, is_admin: bool) -> User:
        """Make a user an admin, or one no longer; the last admin stays one."""
        with _reported_to_operator():
            async with self._storage.write() as tx:
                user, _ = await _found(tx, who)
                await self._accounts.users.set_role_in(tx, user, is_admin=is_admin)
        return user

    async def remove(self, who: str) -> User:
        """Remove a user, at once and in everything; their messages stay (decision D-22)."""
        with _reported_to_operator():
            return await self._accounts.users.remove_found(lambda tx: _found(tx, who))

    async def deactivate(self, who: str) -> User:
        """Shut a user out, at once and in everything, until they are activated (extension L-1)."""
        with _reported_to_operator():
            return await self._accounts.users.deactivate_found(lambda tx: _found(tx, who))

    async def activate(self, who: str) -> User:
        """Let a user in again who was deactivated."""
        with _reported_to_operator():
            async with self._storage.write() as tx:
                account = await _found(tx, who)
                await self._accounts.users.activate_in(tx, account)
        return account.user

    async def reset_password(self, who: str, password: str) -> User:
        """Give a user a new password, which ends all their sessions (decision D-17)."""
        with _reported_to_operator():
            password_hash = await Hasher().hash(password)
            async with self._storage.write() as tx:
                user, _ = await _found(tx, who)
                await self._accounts.users.set_password_in(tx, user.id, password_hash, from_admin=True)
        return user

    async def remove_second_factor(self, who: str) -> User:
        """Take a user's second factors away, as when a phone was lost; it ends all their sessions.

        Where they must have one, so do the streams of their tokens, which are good again when they have.
        """
        step = self._accounts.second_steps.step
        if step is None:
            raise SettingsError("No plugin that is on keeps second factors.")
        with _reported_to_operator():
            async with self._storage.write() as tx:
                user, _ = await _found(tx, who)
                if not await step.forget_in(tx, user.id):
                    raise BadRequest(f"{user.email} has no second factor.")
                await self._accounts.sessions.end_all_in(tx, user.id)
                if await self._accounts.second_steps.is_missing_in(tx, user.id):
                    await tx.append(StreamsEnded(user.id).to())
                await note(tx, "second-factor.remove", "user", user.id)
        return user

    async def mail_reset(self, who: str) -> User:
        """Have a running server mail a user a link to a new password."""
        self._require_mail()
        with _reported_to_operator():
            async with self._storage.write() as tx:
                user, is_deactivated = await _found(tx, who)
                if is_deactivated:
                    raise BadRequest(f"{user.email} is deactivated; activate them first.")
                if await is_bot_in(tx, user.id):
                    raise BadRequest("A bot has no password: nobody signs in as one.")
                await self._accounts.links.issue_in(tx, "reset", user.email)
        return user

    async def check_exists(self, who: str) -> None:
        """Raise `OperatorError` for an unknown user, before anybody is asked for a password."""
        async with self._storage.read() as tx:
            await _found(tx, who)

    def _require_mail(self) -> None:
        if not self._sends_mail:
            raise SettingsError(
                "email: no mail is configured, so no link can be mailed. Configure it, or give a password."
            )


@asynccontextmanager
async def open_users(installation: Installation) -> AsyncIterator[UserOffice]:
    """Open an installation's users, whether or not a server runs on it."""
    settings = installation.settings
    async with installation.existing_storage() as storage:
        has_mail = settings.email is not None
        sign_in = installation.plugins.sign_in_traits_of(settings)
        capabilities = installation.served_capabilities()
        await refuse_older(storage, capabilities.tables)
        accounts = Accounts.build(
            storage,
            settings.auth,
            jwt_secret(settings),
            has_mail=has_mail,
            sign_in=sign_in,
            capabilities=capabilities,
        )
        # Capabilities are told within the transaction who is gone, here as in a server.
        no_images = cast("ImageStore", None)
        chat = Chat.build(storage, no_images, settings.chat.max_message_length, capabilities, settings.chat)
        hub = Hub(storage, settings.events)
        capabilities.bring(Application(settings, storage, accounts, chat, hub, capabilities=capabilities))
        asks = sign_in.asks_for_passwords
        must_change = asks and settings.auth.must_change_set_passwords
        yield UserOffice(storage, accounts, has_mail and asks, asks, must_change)


def made_password() -> str:
    """Return a new password of 20 characters."""
    return secrets.token_urlsafe(_GENERATED_BYTES)


async def _found(tx: Transaction, who: str) -> Account:
    """Return the user of an email or an id, also a deactivated one."""
    account = await account_by_email(tx, who) or await account_by_id(tx, who)
    if account is None:
        raise BadRequest(f"There is no user {who}. teamchat user list shows them all.")
    return account


@contextmanager
def _reported_to_operator() -> Iterator[None]:
    try:
        yield
    except Problem as problem:
        raise OperatorError(problem.sentence) from None
    except ChangeFailed as failed:
        raise OperatorError(
            f"Not everything was done, for {failed}. The line logged before says more."
        ) from failed
