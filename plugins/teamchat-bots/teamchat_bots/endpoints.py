"""The endpoints of bots. Tokens are given in a session alone; for all but the list, a token is an admin's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from teamchat import NewCredential, TokenInfo
from teamchat.model import Caller
from teamchat.web import SESSION_ALONE, Answer, Section, Success, read_limit
from teamchat_bots.bots import Bot

if TYPE_CHECKING:
    from teamchat_bots.bots import Bots

_ADMIN = ("admin",)


class BotName(Struct, frozen=True, rename="camel"):
    """The name of a bot, which nobody else has."""

    user_name: str


class BotList(Answer, frozen=True):
    """The bots that the caller looks after, and the cursor to those that follow."""

    bots: Sequence[Bot]
    next: str | None


class OneBot(Answer, frozen=True):
    """The bot."""

    bot: Bot


class BotTokens(Answer, frozen=True):
    """A bot's tokens, newest first, and the cursor to those that follow.

    Those that have expired are listed for 30 days.
    """

    tokens: Sequence[TokenInfo]
    next: str | None


class BotToken(TokenInfo, frozen=True):
    """A token with its text, which is told this once."""

    token: str = ""


class OneBotToken(Answer, frozen=True):
    """The token."""

    token: BotToken


def section_for(bots: Bots) -> Section:
    """Return the endpoints."""
    section = Section("bots")

    async def check_make(caller: Caller) -> None:
        await bots.check_make(caller)

    async def check_manage(caller: Caller, bot_id: str) -> None:
        await bots.check_manage(caller, bot_id)

    @section.endpoint(
        "GET",
        "/bots",
        answer=BotList,
        scopes=("read", *_ADMIN),
        query=("limit", "cursor"),
        first=check_make,
    )
    async def list_bots(caller: Caller, limit: str | None, cursor: str | None) -> BotList:
        """List the bots: all to an admin, one's own to others (chat.botsBy)."""
        return BotList(*await bots.page(caller, read_limit(limit), cursor))

    @section.endpoint("POST", "/bots", body=BotName, answer=OneBot, scopes=_ADMIN, first=check_make)
    async def create_bot(caller: Caller, body: BotName, key: str | None) -> OneBot:
        """Make a bot (admin, or who chat.botsBy says)."""
        return OneBot(await bots.create(caller, body.user_name, key))

    @section.endpoint("PUT", "/bots/:botId", body=BotName, answer=OneBot, scopes=_ADMIN, first=check_manage)
    async def rename_bot(caller: Caller, bot_id: str, body: BotName) -> OneBot:
        """Give a bot another name (admin, or its owner)."""
        return OneBot(await bots.rename(caller, bot_id, body.user_name))

    @section.endpoint("DELETE", "/bots/:botId", answer=Success, scopes=_ADMIN)
    async def remove_bot(caller: Caller, bot_id: str) -> Success:
        """Remove a bot for good; its tokens and streams end at once (admin, or its owner)."""
        await bots.remove(caller, bot_id)
        return Success()

    @section.endpoint(
        "GET",
        "/bots/:botId/tokens",
        answer=BotTokens,
        scopes=SESSION_ALONE,
        query=("limit", "cursor"),
        first=check_manage,
    )
    async def list_bot_tokens(
        caller: Caller, bot_id: str, limit: str | None, cursor: str | None
    ) -> BotTokens:
        """List a bot's tokens (admin, or its owner)."""
        return BotTokens(*await bots.tokens(caller, bot_id, read_limit(limit), cursor))

    @section.endpoint(
        "POST",
        "/bots/:botId/tokens",
        body=NewCredential,
        answer=OneBotToken,
        scopes=SESSION_ALONE,
        first=check_manage,
        statuses=[409],
    )
    async def give_bot_token(
        caller: Caller, bot_id: str, body: NewCredential, key: str | None
    ) -> OneBotToken:
        """Make a token for a bot; its text is in the answer, and nowhere after (admin, or its owner)."""
        made, secret = await bots.give(caller, bot_id, body, key)
        return OneBotToken(BotToken(**asdict(made), token=secret))

    @section.endpoint("DELETE", "/bots/:botId/tokens/:tokenId", answer=Success, scopes=SESSION_ALONE)
    async def revoke_bot_token(caller: Caller, bot_id: str, token_id: str) -> Success:
        """Revoke a bot's token; its streams end at once (admin, or its owner)."""
        await bots.end(caller, bot_id, token_id)
        return Success()

    return section
