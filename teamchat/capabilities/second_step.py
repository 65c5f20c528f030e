"""Second factors, which a capability keeps and every way to sign in asks for (extension M-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from teamchat.interfaces import Transaction


class SecondStep(Protocol):
    """Who has a second factor, and whether a code is theirs."""

    methods: Sequence[str]
    """What ``WWW-Authenticate: SecondFactor`` names, such as ``totp``."""

    async def is_set_in(self, tx: Transaction, user_id: str) -> bool:
        """Return whether a user has a second factor; if so, no session begins without it."""

    async def check_in(self, tx: Transaction, user_id: str, code: str) -> bool:
        """Return whether a code is valid now; if it is, use it up in this writing transaction.

        The caller counts wrong codes, so this raises nothing for them.
        """

    async def forget_in(self, tx: Transaction, user_id: str) -> bool:
        """Remove all second factors of a user, for an operator; return whether there was one."""
