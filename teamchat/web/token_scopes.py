"""What a token needs for an endpoint that does not say (extension K-1)."""

from __future__ import annotations

from teamchat.accounts.scopes import ADMIN, SESSION_ALONE

PLACE_PARAMETERS = frozenset({"channelId", "conversationId", "messageId", "placeId"})
"""Parameters of a path that name a place, or a message in one."""


def default_scopes(method: str, rule: str) -> tuple[str, ...]:
    """Return the scopes of which a token needs one."""
    if rule.startswith("/auth/"):
        return SESSION_ALONE
    if rule.startswith("/admin/"):
        return (ADMIN,)
    return ("read",) if method in {"GET", "HEAD"} else ("write",)
