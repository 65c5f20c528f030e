"""The log's lines about what admins do in private channels: ids alone, no name and nothing that was said."""

from __future__ import annotations

from typing import Any

from teamchat.chat.sight import Room
from teamchat.model import Caller
from teamchat.observability.logs import get_logger

_log = get_logger(__name__)


def note(event: str, caller: Caller, room: Room, **ids: Any) -> None:
    """Log what the caller did, once it is committed, if an admin did it in a private channel."""
    if caller.user.is_admin and room.is_private:
        _log.info(event, channel=room.id, by=caller.user.id, **ids)
