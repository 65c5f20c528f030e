"""The resources of the interface: users, channels, messages; their ids, and the text they may contain."""

from __future__ import annotations

from teamchat.model.pages import Cursor
from teamchat.model.resources import (
    Author,
    Caller,
    Channel,
    Conversation,
    ListedUser,
    Member,
    Message,
    SessionInfo,
    SignedIn,
    ThreadMeta,
    TokenPair,
    User,
    UserName,
    Webhook,
    now_ms,
)

__all__ = [
    "Author",
    "Caller",
    "Channel",
    "Conversation",
    "Cursor",
    "ListedUser",
    "Member",
    "Message",
    "SessionInfo",
    "SignedIn",
    "ThreadMeta",
    "TokenPair",
    "User",
    "UserName",
    "Webhook",
    "now_ms",
]
