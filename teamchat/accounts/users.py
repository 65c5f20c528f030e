"""Users: adding, renaming, removing and leaving (decisions D-21, D-22, D-23).

An email and a user name belong to at most one user, ignoring case. As long as there are users, one of them is
an admin. A user who is gone keeps a row with the name under which their messages are shown, but no email,
password, session, link in a mail or identity at a provider. Passwords are hashed before the writing
transaction opens; permissions are checked in the transaction that makes the change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec import UNSET

from teamchat.accounts import idempotency, names
from teamchat.accounts.acting import acting_for
from teamchat.accounts.audit import note
from teamchat.accounts.links import Links
from teamchat.accounts.mail_turns import user_requester
from teamchat.accounts.proofs import vouch_in
from teamchat.accounts.records import (
    Account,
    account_by_email,
    account_by_id,
    check_admin,
    is_bot_in,
    own_row,
)
from teamchat.accounts.scopes import SESSION_ALONE, check_scopes
from teamchat.accounts.scrypt import Hasher, check_password
from teamchat.accounts.second_steps import SecondSteps
from teamchat.accounts.sessions import Sessions
from teamchat.capabilities.changes import TakesPart
from teamchat.capabilities.guarded import ChangeFailed, TooMuch
from teamchat.errors import BadRequest, NotFound, Unauthorized, Unavailable
from teamchat.events import Event, NewUser, RemoveUser, StreamsEnded, UpdateUser, UserExit, UserGone
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, ListedUser, User, text
from teamchat.model.ids import new_id
from teamchat.observability.logs import get_logger
from teamchat.storage.log import blank
from teamchat.storage.parts import SHORT_REST, in_parts

ROLES = ("user", "admin")
Find = Callable[[Transaction], Awaitable[Account]]
"""Returns the user whom something is to be done with, or raises a `Problem` that says why it may not be."""
_RETRY_SECONDS = 10

_log = get_logger(__name__)


class Users:
    """The users of the server."""

    def __init__(
        self,
        storage: Storage,
        sessions: Sessions,
        hasher: Hasher,
        links: Links,
        clock: Callable[[], int],
        capabilities: TakesPart,
        second_steps: SecondSteps,
        *,
        is_invite_required: bool,
        sends_invites: bool,
    ) -> None:
        self._storage = storage
        self._sessions = sessions
        self._hasher = hasher
        self._links = links
        self._clock = clock
        self._capabilities = capabilities
        self._second_steps = second_steps
        self._is_invite_required = is_invite_required
        self._sends_invites = sends_invites

    async def list(self) -> Sequence[ListedUser]:
        """Return everyone who is a user now, in the order in which they came."""
        async with self._storage.read() as tx:
            rows = await tx.fetch(
                """select id, user_name, email, is_admin, created_at, deactivated_at from users
                   where removed_at is null order by id"""
            )
            users = [_listed(row) for row in rows]
            return await self._capabilities.user_fields.added(tx, users, are_all=True)

    async def whole_in(self, tx: Transaction, user: User) -> User:
        """Return a user with the fields that capabilities add, in a transaction that is open."""
        [whole] = await self._capabilities.user_fields.added(tx, [user])
        return whole

    async def changed_in(self, tx: Transaction, user_id: str) -> None:
        """Tell everybody what fields a user has now, in the transaction that changes them (L-7).

        How often that may be is for the capability to limit: each time, all who are there are told.
        """
        account = await account_by_id(tx, user_id)
        if account is not None:
            told = {"id": user_id, "userName": account.user.user_name}
            told |= await self._capabilities.user_fields.of(tx, user_id)
            # What was said here of oneself is found by the user's id, to be taken out of the log with them.
            payload = msgspec.json.encode(told).decode()
            await tx.append(Event(UpdateUser.type, payload, text_room=user_id, text_message=user_id))

    async def check_admin(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller is an admin."""
        check_admin(caller)

    async def check_manage(self, caller: Caller, user_id: str) -> None:
        """Raise `NotFound` for an unknown user, then `Forbidden` for a caller who is no admin (D-03)."""
        async with self._storage.read() as tx:
            await _managed(tx, caller, user_id)

    async def add(self, caller: Caller, email: str, role: str = "user", password: str | None = None) -> str:
        """Add a user and return their id; admins alone may (decision D-21).

        A password is stored in whatever mode: it counts once password mode is on.  Without one, password
        mode mails them a link to set one, if there is mail (part 5, rules 4 and 5); else they have none until
        an admin gives them one, or sign in without.
        """
        check_admin(caller)
        text.email(email)
        if role not in ROLES:
            raise BadRequest("role is neither user nor admin.")
        if password is not None:
            check_scopes(caller, SESSION_ALONE)
        password_hash = None if password is None else await self._hasher.hash(password)
        is_invited = self._sends_invites and password is None
        async with self._storage.write() as tx:
            user = await self.create_in(
                tx,
                email,
                is_admin=role == "admin",
                password_hash=password_hash,
                from_admin=password_hash is not None,
                by=caller.user.id,
            )
            if is_invited:
                await self._links.issue_in(tx, "invite", user.email, requester=user_requester(caller.user.id))
        if is_invited:
            self._links.announce()
        _log.info("user added", user=user.id, by=caller.user.id, role=role, invited=is_invited)
        return user.id

    async def rename(self, caller: Caller, user_name: str) -> User:
        """Give the caller another name, which nobody else may have (decision D-21)."""
        async with self._storage.write() as tx:
            return await self.rename_in(tx, await own_row(tx, caller), user_name)

    async def rename_in(self, tx: Transaction, user: User, user_name: str) -> User:
        """Do what `rename` does, in a transaction that is open. Raises `BadRequest` for a name of others."""
        user_name = text.name("userName", user_name, most=text.MAX_USER_NAME, present=user.user_name)
        if user.user_name == user_name:
            return user
        await _check_name(tx, user_name, but=user.id)
        await tx.fetch(
            "update users set user_name = $2, user_name_key = $3 where id = $1",
            user.id,
            user_name,
            text.fold(user_name),
        )
        await names.note_in(tx, user.id, user_name)
        await tx.append(UpdateUser(user.id, user_name).to())
        return User(user.id, user_name, user.email, user.is_admin)

    async def remove(self, caller: Caller, user_id: str) -> None:
        """Remove another user, at once and in everything (decision D-22)."""
        find = _another(caller, user_id, "You can't remove yourself; leave instead.")
        await self.remove_found(find, by=caller.user.id)
        _log.info("user removed", user=user_id, by=caller.user.id)

    async def remove_found(self, find: Find, *, by: str | None = None) -> User:
        """Remove the user whom `find` finds, and raises for who may not be.

        Who is in too many rooms for one transaction is deactivated first, and removed when they have left
        them. Where it fails because of a capability they stay so, and `ChangeFailed` is raised; where it is
        slow, `Unavailable`: the next try goes on with it.
        """

        async def remove() -> User:
            async with self._storage.write() as tx:
                user, _ = await find(tx)
                await self.remove_in(tx, user, by=by)
            return user

        with suppress(ChangeFailed):
            return await remove()
        user = await self._shut_out(find, by=by)
        return await self._in_parts(user.id, remove)

    async def deactivate(self, caller: Caller, user_id: str) -> None:
        """Shut another user out, at once and in everything, until they are activated (extension L-1).

        Who is deactivated stays so.
        """
        find = _another(caller, user_id, "You can't deactivate yourself; another admin can.")
        await self.deactivate_found(find, by=caller.user.id)
        _log.info("user deactivated", user=user_id, by=caller.user.id)

    async def deactivate_found(self, find: Find, *, by: str | None = None) -> User:
        """Deactivate the user whom `find` finds, and raises for who may not be.

        What may be long, such as handing over what they managed, follows in transactions of its own. Where
        that fails it has been logged, and is gone on with within the hour: they are shut out all the same.
        """
        user = await self._shut_out(find, by=by)
        with suppress(ChangeFailed):
            await self._settle(user.id)
        return user

    async def settle(self, user_ids: Sequence[str]) -> None:
        """Go on with what follows the deactivation of users, where a server ended before it was done."""
        for user_id in user_ids:
            await self._settle(user_id)

    async def activate(self, caller: Caller, user_id: str) -> None:
        """Let a user in again, with all that was theirs but what deactivating ended (extension L-1).

        Who is active stays so.
        """
        async with self._storage.write() as tx:
            account = await _managed(tx, caller, user_id)
            await self.activate_in(tx, account, by=caller.user.id)
        _log.info("user activated", user=user_id, by=caller.user.id)

    async def exit(self, caller: Caller) -> None:
        """Let the caller leave. Raises `BadRequest` for the last admin (decision D-22)."""
        try:
            user = await self._exit(caller)
        except TooMuch:
            # Nobody is asked for again who is shut out by it.
            with acting_for(None):
                user = await self._shut_out(lambda tx: _own(tx, caller), by=caller.user.id)
                user = await self._in_parts(user.id, lambda: self._exit(caller))
        _log.info("user left", user=user.id)

    async def _exit(self, caller: Caller) -> User:
        async with self._storage.write() as tx:
            user, _ = await _own(tx, caller)
            await _keep_an_admin(tx, user, "can't leave")
            await note(tx, "user.remove", "user", user.id, by=user.id)
            await self._leave(tx, user, UserExit(user.id, user.user_name).to())
        return user

    async def reset_password(self, caller: Caller, user_id: str, password: str) -> None:
        """Give a user a new password, which ends their sessions but the caller's own (decision D-17).

        Admins alone may. Raises `BadRequest` for an unknown user (interface, part 4).
        """
        check_admin(caller)
        check_password(password)
        async with self._storage.read() as tx:
            if await account_by_id(tx, user_id) is None:
                raise BadRequest("There is no such user.")
        password_hash = await self._hasher.hash(password)
        async with self._storage.write() as tx:
            is_another = user_id != caller.user.id
            await self.set_password_in(
                tx, user_id, password_hash, keep=caller.session_id, from_admin=is_another, by=caller.user.id
            )
        _log.info("password changed", user=user_id, by=caller.user.id)

    async def set_password_in(
        self,
        tx: Transaction,
        user_id: str,
        password_hash: str,
        *,
        keep: str | None = None,
        from_admin: bool = False,
        by: str | None = None,
    ) -> None:
        """Store a new password's hash, and end all sessions but `keep` and all links (decision D-17).

        In a transaction that is open. `from_admin` says that it is not the user who chose it (D-43).  Raises
        `BadRequest` for an unknown user, and for a bot.
        """
        account = await account_by_id(tx, user_id)
        if account is None:
            raise BadRequest("There is no such user.")
        if await is_bot_in(tx, user_id):
            raise BadRequest("A bot has no password: nobody signs in as one.")
        await tx.fetch(
            "update users set password_hash = $2, password_from_admin = $3 where id = $1",
            user_id,
            password_hash,
            int(from_admin),
        )
        if from_admin:
            await vouch_in(tx, user_id, self._clock())
        await self._links.forget_in(tx, account.user.email)
        await self._sessions.end_all_in(tx, user_id, keep=keep)
        await note(tx, "user.password", "user", user_id, by=by)

    async def remove_in(self, tx: Transaction, user: User, *, by: str | None = None) -> None:
        """Remove a user in a transaction that is open. Raises `BadRequest` for the last admin (D-22)."""
        await _keep_an_admin(tx, user, "can't be removed")
        await note(tx, "user.remove", "user", user.id, by=by)
        await self._leave(tx, user, RemoveUser(user.id, user.email).to())

    async def set_role(self, caller: Caller, user_id: str, role: str) -> User:
        """Make a user an admin, or one no longer; the last admin stays one (extension L).

        Raises `BadRequest` for a role that there is not, for there are no guests yet, and to make a bot one.
        """
        async with self._storage.write() as tx:
            user, _ = await _managed(tx, caller, user_id)
            if role not in ROLES:
                raise BadRequest("role is neither user nor admin.")
            is_admin = role == "admin"
            await self.set_role_in(tx, user, is_admin=is_admin, by=caller.user.id)
        _log.info("role changed", user=user.id, by=caller.user.id, role=role)
        return User(user.id, user.user_name, user.email, is_admin)

    async def set_role_in(
        self, tx: Transaction, user: User, *, is_admin: bool, by: str | None = None
    ) -> None:
        """Make a user an admin, or one no longer, in a transaction that is open.

        It is sent as UPDATE_USER, so that no server goes on with what it remembers of them.  Streams of who
        must have a second factor as an admin, and has none, end.  Raises `BadRequest` for the last admin, and
        to make a bot one (extension K-2).
        """
        if user.is_admin == is_admin:
            return
        if is_admin and await is_bot_in(tx, user.id):
            raise BadRequest("A bot can't be an admin.")
        if not is_admin:
            await _keep_an_admin(tx, user, "must stay one")
        await tx.fetch("update users set is_admin = $2 where id = $1", user.id, int(is_admin))
        await note(tx, "user.role", "user", user.id, by=by, role="admin" if is_admin else "user")
        await tx.append(UpdateUser(user.id, user.user_name, is_admin=is_admin).to())
        if not is_admin:
            await self._capabilities.in_transaction.admin_demoted(tx, user.id)
        elif await self._second_steps.is_missing_in(tx, user.id):
            await tx.append(StreamsEnded(user.id).to())

    async def deactivate_in(self, tx: Transaction, account: Account, *, by: str | None = None) -> None:
        """Do what `deactivate` does, in a transaction that is open.

        Sessions, streams and links in mails end, and capabilities end theirs (`Changes.user_deactivated`).
        Raises `BadRequest` for the last admin.
        """
        user, is_deactivated = account
        if is_deactivated:
            return
        await _keep_an_admin(tx, user, "can't be deactivated")
        await tx.fetch("update users set deactivated_at = $2 where id = $1", user.id, self._clock())
        await note(tx, "user.deactivate", "user", user.id, by=by)
        await self._sessions.end_all_in(tx, user.id)
        await self._links.forget_in(tx, user.email)
        await tx.append(UpdateUser(user.id, user.user_name, is_deactivated=True).to())
        await self._capabilities.in_transaction.user_deactivated(tx, user.id)
        await tx.append(UserGone(user.id).to())

    async def activate_in(self, tx: Transaction, account: Account, *, by: str | None = None) -> None:
        """Do what `activate` does, in a transaction that is open."""
        user, is_deactivated = account
        if is_deactivated:
            await tx.fetch("update users set deactivated_at = null where id = $1", user.id)
            await note(tx, "user.activate", "user", user.id, by=by)
            await tx.append(UpdateUser(user.id, user.user_name, is_deactivated=False).to())
            await self._capabilities.in_transaction.user_activated(tx, user.id)

    async def find_or_create_in(self, tx: Transaction, email: str) -> User:
        """Return the user of an email, created on first sign-in (part 5, rule 10).

        Raises `Unauthorized` if there is none and invites are required, or if they are deactivated.
        """
        text.email(email)
        account = await account_by_email(tx, email)
        if account is not None and not account.is_deactivated:
            return account.user
        if self._is_invite_required:
            raise Unauthorized("There is no user with this email, and invites are required.")
        if account is not None:
            raise Unauthorized("Nobody signs in with this email.")
        return await self.create_in(tx, email)

    async def create_in(
        self,
        tx: Transaction,
        email: str,
        *,
        user_name: str | None = None,
        is_admin: bool = False,
        password_hash: str | None = None,
        from_admin: bool = False,
        is_vouched: bool = False,
        by: str | None = None,
    ) -> User:
        """Create a user in a transaction that is open. Raises `BadRequest` if the email has one already.

        `from_admin` says that an admin chose the password (D-43), and so vouches for who has it; `is_vouched`
        that the operator does (D-40).
        """
        if await account_by_email(tx, email) is not None:
            raise BadRequest("A user with this email exists already.")
        user_name = await names.free_name_in(tx, user_name or names.default_name(email))
        user = User(new_id(), user_name, email, is_admin)
        is_vouched = from_admin or is_vouched
        await self._insert(tx, user, password_hash, from_admin=from_admin, is_vouched=is_vouched)
        await self._tell_of(tx, user, by, "admin" if is_admin else "user")
        return user

    async def create_bot_in(self, tx: Transaction, user_name: str, *, by: str) -> User:
        """Create the account of a program, in a transaction that is open (extension K-2).

        It acts by tokens alone: it has no password, starts no session, and is never an admin.  `by` is who
        makes it.  Raises `BadRequest` for what can't be a name, or is somebody's.
        """
        user_name = text.name("userName", user_name, most=text.MAX_USER_NAME)
        await _check_name(tx, user_name)
        user_id = new_id()
        user = User(user_id, user_name, bot_email(user_id), is_admin=False)
        await self._insert(tx, user, is_bot=True)
        await self._tell_of(tx, user, by, "bot")
        return user

    async def _insert(
        self,
        tx: Transaction,
        user: User,
        password_hash: str | None = None,
        *,
        from_admin: bool = False,
        is_vouched: bool = False,
        is_bot: bool = False,
    ) -> None:
        now = self._clock()
        await tx.fetch(
            """insert into users
               (id, user_name, user_name_key, email, email_key, is_admin, password_hash, created_at,
                password_from_admin, email_proved_at, is_bot, log_start)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                (select coalesce(max(seq), 0) from events))""",
            user.id,
            user.user_name,
            text.fold(user.user_name),
            user.email,
            text.fold(user.email),
            int(user.is_admin),
            password_hash,
            now,
            int(from_admin),
            now if is_vouched else None,
            int(is_bot),
        )
        await names.note_in(tx, user.id, user.user_name)

    async def _tell_of(self, tx: Transaction, user: User, by: str | None, role: str) -> None:
        await note(tx, "user.create", "user", user.id, by=by, role=role)
        await tx.append(NewUser(user.id, user.user_name, user.email).to())

    async def _shut_out(self, find: Find, *, by: str | None) -> User:
        async with self._storage.write() as tx:
            account = await find(tx)
            await self.deactivate_in(tx, account, by=by)
        return account.user

    async def _in_parts(self, user_id: str, remove: Callable[[], Awaitable[User]]) -> User:
        """Remove who is shut out when they have left all they are in. Raises `Unavailable` if it is slow."""
        try:
            await self._settle(user_id, is_going=True)
            return await remove()
        except TooMuch as error:
            raise Unavailable(
                "They are deactivated, but not removed yet: the server is busy. Try again.", _RETRY_SECONDS
            ) from error

    async def _settle(self, user_id: str, *, is_going: bool = False) -> None:
        async def part(tx: Transaction) -> bool:
            return await self._capabilities.in_transaction.user_settling(tx, user_id, is_going=is_going)

        await in_parts(self._storage, part, rest=SHORT_REST)

    async def _leave(self, tx: Transaction, user: User, farewell: Event) -> None:
        if said := self._capabilities.user_fields.names:
            await blank(tx, user.id, [user.id], said)
        await tx.append(farewell)
        await self._sessions.end_all_in(tx, user.id)
        await self._links.forget_in(tx, user.email)
        await names.forget_in(tx, user.id)
        await idempotency.forget_in(tx, user.id)
        await tx.fetch("delete from identities where user_id = $1", user.id)
        await tx.fetch(
            """update users set user_name_key = null, email = '', email_key = null, password_hash = null,
               removed_at = $2, deactivated_at = null where id = $1""",
            user.id,
            self._clock(),
        )
        await self._capabilities.in_transaction.user_gone(tx, user.id)
        await tx.append(UserGone(user.id).to())


def bot_email(user_id: str) -> str:
    """Return the email of a program's account, at which nobody is (extension K-2)."""
    return f"bot-{user_id}@{text.BOTS_DOMAIN}"


def _listed(row: Row) -> ListedUser:
    id_, name, email, is_admin, created_at, deactivated_at = row
    is_deactivated = deactivated_at is not None or UNSET
    return ListedUser(id_, name, email, bool(is_admin), created_at, is_deactivated)


def _another(caller: Caller, user_id: str, refusal: str) -> Find:
    """Return what finds a user whom an admin manages; of themselves it raises `BadRequest` with `refusal`."""

    async def find(tx: Transaction) -> Account:
        account = await _managed(tx, caller, user_id)
        if account.user.id == caller.user.id:
            raise BadRequest(refusal)
        return account

    return find


async def _own(tx: Transaction, caller: Caller) -> Account:
    account = await account_by_id(tx, caller.user.id)
    if account is None:
        raise Unauthorized
    return account


async def _managed(tx: Transaction, caller: Caller, user_id: str) -> Account:
    account = await account_by_id(tx, user_id)
    if account is None:
        raise NotFound("There is no such user.")
    check_admin(caller)
    return account


async def _check_name(tx: Transaction, user_name: str, *, but: str = "") -> None:
    if await names.is_taken_in(tx, user_name, but=but):
        raise BadRequest("This userName is taken, or looks like one that is.")


async def _keep_an_admin(tx: Transaction, leaving: User, refusal: str) -> None:
    """Raise `BadRequest` if a user who will be no admin any more is the last one."""
    if leaving.is_admin and not await tx.fetch(
        """select 1 from users where is_admin = 1 and removed_at is null and deactivated_at is null
           and id <> $1 limit 1""",
        leaving.id,
    ):
        raise BadRequest(f"The last admin {refusal}; make another admin first.")
