"""Tokens end with their user and with who made them, and where all that acts in a user's name ends.

That is when a user is shut out or gone (K-1, L-1), and when an address is proved for the first time (D-40).
Tokens that only an admin could make end when who made them is one no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat import Changes, Transaction

if TYPE_CHECKING:
    from teamchat_tokens.tokens import Tokens


class Ending(Changes):
    """What becomes of tokens with their user. Being activated brings none back."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """A user is no more."""
        await self._end(tx, user_id)

    async def user_deactivated(self, tx: Transaction, user_id: str) -> None:
        """A user is shut out."""
        await self._end(tx, user_id)

    async def admin_demoted(self, tx: Transaction, user_id: str) -> None:
        """An admin was shown tokens of bots that they look after no longer, and has some that act as one."""
        await self._tokens.end_given_as_admin(tx, user_id)

    async def address_proved(self, tx: Transaction, user_id: str) -> None:
        """Whoever made tokens before was perhaps not the owner of the address."""
        await self._end(tx, user_id)

    async def _end(self, tx: Transaction, user_id: str) -> None:
        await self._tokens.end_all(tx, user_id)
        await self._tokens.end_given(tx, user_id)
