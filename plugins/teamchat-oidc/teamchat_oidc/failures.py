"""Why a provider's word is not taken; nothing of what it said is in it."""

from __future__ import annotations

from teamchat import OAuthFailed


class NotBelieved(OAuthFailed):
    """What the provider said can't be used; `detail` is for the log."""

    def __init__(self, detail: str, reason: str = "provider_error") -> None:
        super().__init__(reason)
        self.detail = detail


def require(holds: bool, detail: str) -> None:
    """Raise `NotBelieved` unless the condition holds."""
    if not holds:
        raise NotBelieved(detail)
