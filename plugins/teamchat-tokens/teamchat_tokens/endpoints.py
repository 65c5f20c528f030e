"""The endpoints of one's tokens. A token reaches none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from teamchat import NewCredential, TokenInfo
from teamchat.model import Caller
from teamchat.web import SESSION_ALONE, Answer, Section, Success, read_limit

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_tokens.tokens import Tokens


class TokenList(Answer, frozen=True):
    """One's tokens, newest first, and the cursor to those that follow.

    Those that have expired are listed for 30 days.
    """

    tokens: Sequence[TokenInfo]
    next: str | None


class MadeToken(TokenInfo, frozen=True):
    """A token with its text, which is told this once."""

    token: str = ""


class OneToken(Answer, frozen=True):
    """The token."""

    token: MadeToken


def section_for(app: Teamchat, tokens: Tokens) -> Section:
    """Return the endpoints."""
    section = Section("tokens")

    @section.endpoint("GET", "/me/tokens", answer=TokenList, scopes=SESSION_ALONE, query=("limit", "cursor"))
    async def list_tokens(caller: Caller, limit: str | None, cursor: str | None) -> TokenList:
        """List one's tokens."""
        async with app.storage.read() as tx:
            return TokenList(*await tokens.page(tx, caller.user.id, read_limit(limit), cursor))

    @section.endpoint(
        "POST", "/me/tokens", body=NewCredential, answer=OneToken, scopes=SESSION_ALONE, statuses=[409]
    )
    async def create_token(caller: Caller, body: NewCredential, key: str | None) -> OneToken:
        """Make a token; its text is in the answer, and nowhere after."""
        async with app.storage.write() as tx:
            made, secret = await tokens.give(tx, caller.user.id, body, by=caller.user.id, key=key)
        return OneToken(MadeToken(**asdict(made), token=secret))

    @section.endpoint("DELETE", "/me/tokens/:tokenId", answer=Success, scopes=SESSION_ALONE)
    async def revoke_token(caller: Caller, token_id: str) -> Success:
        """Revoke a token; its streams end at once."""
        async with app.storage.write() as tx:
            await tokens.end(tx, caller.user.id, token_id)
        return Success()

    return section
