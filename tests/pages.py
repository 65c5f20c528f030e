"""Newest pages as they are sent: encoded, and kept in memory."""

from __future__ import annotations

from typing import Any

import msgspec

from teamchat.chat.pages import MessagePage
from teamchat.model.pages import Page
from teamchat.web.sections.messages import MessageList


def encode_page(page: MessagePage) -> bytes:
    """Write a page as a server would."""
    return msgspec.json.encode(MessageList.of(page))


async def sent_page(chat: Any, caller: Any, channel_id: str, limit: int = 50) -> dict[str, Any]:
    """Return the newest page of a channel as a client reads it."""
    encoded = await chat.messages.encoded_page(caller, channel_id, Page(limit), encode_page)
    found: dict[str, Any] = msgspec.json.decode(encoded.plain)
    return found
