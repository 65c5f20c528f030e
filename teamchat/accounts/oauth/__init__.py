"""Sign-in at other providers: OAuth 2.0 with PKCE (interface, part 4 and part 5 rules 13 to 15; D-20)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from teamchat.interfaces import OAuthProvider, Storage

if TYPE_CHECKING:
    from teamchat.accounts.accounts import Accounts
    from teamchat.settings import Settings


class OAuth:
    """The configured providers, and the way through them to a session."""

    def __init__(self, providers: Sequence[OAuthProvider]) -> None:
        self.providers = providers

    @classmethod
    def build(
        cls,
        settings: Settings,
        preset: Callable[[str], OAuthProvider],
        storage: Storage,
        accounts: Accounts,
        secret: bytes,
    ) -> Self | None:
        """Return None if no provider is configured. `preset` finds the built-in provider of an id."""
        if settings.oauth.presets or settings.oauth.custom:
            raise NotImplementedError
        return None
