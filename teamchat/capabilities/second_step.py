"""What a capability says of second factors, which every way to sign in asks (extension M-1)."""

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
        """Return whether a user has a second factor, so that no session begins without it."""

    async def check_in(self, tx: Transaction, user_id: str, code: str) -> bool:
        """Return whether a code is good now, and spend it in this writing transaction if it is.

        Wrong ones are counted by who asks, so it raises nothing for them.
        """

    async def forget_in(self, tx: Transaction, user_id: str) -> bool:
        """Take all second factors of a user away, for an operator; return whether there was one."""
