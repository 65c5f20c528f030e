"""Making bots, looking after them, and giving them tokens (K-2).

An account that is a bot's is the server's to know (`Users.create_bot_in`): nobody signs in to it, and it is
no admin.  Here is who may make one, whose it is, and who gives it tokens.  Admins look after all bots; where
``chat.botsBy`` is ``everyone``, others after those that they made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from teamchat import (
    BadRequest,
    Changes,
    Credentials,
    Forbidden,
    KeyedRequest,
    NewCredential,
    NotFound,
    TokenInfo,
    TokenPage,
    Transaction,
)
from teamchat.accounts import Account
from teamchat.model import Caller, User

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_BOTS = 100
"""How many bots are one user's at most."""
_BOTS = """select u.id, u.user_name, u.email, u.created_at, u.deactivated_at, b.owner_id
from users u left join bots b on b.user_id = u.id where u.is_bot = 1 and u.removed_at is null"""
_ID = re.compile(r"[0-9a-f]{32}")
_COUNT = "select count(*) from bots where owner_id = $1"


class Bot(Struct, frozen=True, rename="camel"):
    """A bot: a user, and who made it. `owner_id` is null where that is not known; they may be gone."""

    id: str
    user_name: str
    email: str
    is_admin: bool
    created_at: int
    is_bot: bool
    owner_id: str | None
    is_deactivated: bool | UnsetType = UNSET


class BotPage(NamedTuple):
    """Some bots, and the cursor to those that follow."""

    bots: Sequence[Bot]
    next: str | None


class Going(Changes):
    """A bot that is gone is nobody's. One whose owner is gone stays, for admins to look after."""

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Forget whose it was."""
        await tx.fetch("delete from bots where user_id = $1", user_id)
        await tx.fetch("delete from bots_rates where user_id = $1", user_id)


class Bots:
    """The bots of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._is_for_everyone = app.settings.chat.bots_by == "everyone"

    async def may(self, tx: Transaction, caller: Caller) -> Sequence[str]:  # noqa: ARG002
        """Return that a user may make bots, if so: for ``GET /me``."""
        is_session = caller.scopes is None or "admin" in caller.scopes
        return ["create-bots"] if is_session and self._may_make(caller) else []

    async def check_make(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller may make bots."""
        if not self._may_make(caller):
            raise Forbidden("Only an admin may make bots.")

    async def check_manage(self, caller: Caller, bot_id: str) -> None:
        """Raise `NotFound` for no bot, then `Forbidden` for another's (D-03)."""
        async with self._app.storage.read() as tx:
            await self._managed(tx, caller, bot_id)

    async def page(self, caller: Caller, limit: int, cursor: str | None = None) -> BotPage:
        """Return up to `limit` bots that the caller looks after, in the order in which they were made.

        Raises `BadRequest` for a cursor that is none.
        """
        await self.check_make(caller)
        if cursor is not None and not _ID.fullmatch(cursor):
            raise BadRequest("cursor is none that was given out.")
        whose, given = ("", ()) if caller.user.is_admin else ("and b.owner_id = $3", (caller.user.id,))
        async with self._app.storage.read() as tx:
            rows = await tx.fetch(
                f"{_BOTS} and u.id > $1 {whose} order by u.id limit $2", cursor or "", limit + 1, *given
            )
        found = [_bot(row) for row in rows[:limit]]
        return BotPage(found, found[-1].id if len(rows) > limit else None)

    async def create(self, caller: Caller, user_name: str, key: str | None = None) -> Bot:
        """Make a bot; `key` is the Idempotency-Key (decision D-07b).

        Raises `BadRequest` for a name that can't be one or is somebody's, and for one bot too many.
        """
        await self.check_make(caller)
        owner = caller.user.id
        request = KeyedRequest(owner, "bots", key)
        async with self._app.storage.write() as tx:
            make = partial(self._make, tx, owner, user_name)
            return await request.once(tx, user_name, make, partial(_one, tx))

    async def rename(self, caller: Caller, bot_id: str, user_name: str) -> Bot:
        """Give a bot another name. Raises `BadRequest` for one that can't be, or is somebody's."""
        async with self._app.storage.write() as tx:
            bot = await self._managed(tx, caller, bot_id)
            await self._app.accounts.users.rename_in(tx, _user(bot), user_name)
            renamed = await _one(tx, bot_id)
            if renamed.user_name != bot.user_name:
                details = {"userName": renamed.user_name, "before": bot.user_name}
                await self._app.audit.note(tx, "bot.rename", "user", bot_id, **details)
            return renamed

    async def remove(self, caller: Caller, bot_id: str) -> None:
        """Remove a bot for good; its tokens and streams end at once, and its messages stay (D-22)."""

        async def find(tx: Transaction) -> Account:
            bot = await self._managed(tx, caller, bot_id)
            return Account(_user(bot), bool(bot.is_deactivated))

        await self._app.accounts.users.remove_found(find, by=caller.user.id)

    async def tokens(self, caller: Caller, bot_id: str, limit: int, cursor: str | None = None) -> TokenPage:
        """Return up to `limit` tokens of a bot, newest first, without their texts."""
        async with self._app.storage.read() as tx:
            await self._managed(tx, caller, bot_id)
            return await self._credentials.page(tx, bot_id, limit, cursor)

    async def give(
        self, caller: Caller, bot_id: str, asked: NewCredential, key: str | None = None
    ) -> tuple[TokenInfo, str]:
        """Make a token for a bot, and return it with its text, which nobody is told again.

        Raises `Conflict` for a key that was used, `BadRequest` for what can't be a token, or for a bot that
        is deactivated.
        """
        async with self._app.storage.write() as tx:
            bot = await self._managed(tx, caller, bot_id)
            if bot.is_deactivated:
                raise BadRequest("The bot is deactivated; activate it first.")
            is_own = self._is_own(bot, caller)
            return await self._credentials.give(
                tx, bot_id, asked, by=caller.user.id, key=key, as_admin=not is_own
            )

    async def end(self, caller: Caller, bot_id: str, token_id: str) -> None:
        """End a token of a bot's, and its streams."""
        async with self._app.storage.write() as tx:
            await self._managed(tx, caller, bot_id)
            await self._credentials.end(tx, bot_id, token_id)

    @property
    def _credentials(self) -> Credentials:
        credentials = self._app.credentials
        if credentials is None:
            raise NotFound("This server has no tokens.")
        return credentials

    def _may_make(self, caller: Caller) -> bool:
        return caller.user.is_admin or self._is_for_everyone

    async def _managed(self, tx: Transaction, caller: Caller, bot_id: str) -> Bot:
        bot = await _one(tx, bot_id)
        if not (caller.user.is_admin or self._is_own(bot, caller)):
            raise Forbidden("Only an admin, or who has made this bot, may do this.")
        return bot

    def _is_own(self, bot: Bot, caller: Caller) -> bool:
        """Whether the caller looks after a bot, admin or not."""
        return self._is_for_everyone and bot.owner_id == caller.user.id

    async def _make(self, tx: Transaction, owner: str, user_name: str) -> str:
        [(count,)] = await tx.fetch(_COUNT, owner)
        if count >= MOST_BOTS:
            raise BadRequest(f"You have {MOST_BOTS} bots already; remove one first.")
        user = await self._app.accounts.users.create_bot_in(tx, user_name, by=owner)
        await tx.fetch("insert into bots (user_id, owner_id) values ($1, $2)", user.id, owner)
        await self._app.accounts.users.changed_in(tx, user.id)
        return user.id


async def _one(tx: Transaction, bot_id: str) -> Bot:
    rows = await tx.fetch(f"{_BOTS} and u.id = $1", bot_id)
    if not rows:
        raise NotFound("There is no such bot.")
    return _bot(rows[0])


def _bot(row: Sequence[Any]) -> Bot:
    id_, user_name, email, created_at, deactivated_at, owner_id = row
    is_deactivated = deactivated_at is not None or UNSET
    return Bot(
        id_,
        user_name,
        email,
        False,
        created_at,
        is_bot=True,
        owner_id=owner_id,
        is_deactivated=is_deactivated,
    )


def _user(bot: Bot) -> User:
    return User(bot.id, bot.user_name, bot.email, bot.is_admin)
