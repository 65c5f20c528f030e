"""The endpoints of pins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from teamchat.model import Caller, Message
from teamchat.web import Answer, Section

if TYPE_CHECKING:
    from teamchat_pins.pins import Pins


class Pin(Answer, frozen=True):
    """A message's pin. Without `pinned_at` and `pinned_by` there is none."""

    id: str
    pinned_at: int | UnsetType = UNSET
    pinned_by: str | UnsetType = UNSET


class PinAnswer(Answer, frozen=True):
    """The message's pin after the change."""

    message: Pin


class PinnedMessages(Answer, frozen=True):
    """The pinned messages of a place, newest pin first."""

    messages: Sequence[Message]


def section_for(pins: Pins) -> Section:
    """Return the endpoints."""
    section = Section("pins")

    @section.endpoint("POST", "/messages/:messageId/pin", answer=PinAnswer)
    async def pin_message(caller: Caller, message_id: str) -> PinAnswer:
        """Pin a message."""
        pinned = await pins.pin(caller, message_id)
        return PinAnswer(Pin(message_id, pinned.pinned_at, pinned.pinned_by))

    @section.endpoint("DELETE", "/messages/:messageId/pin", answer=PinAnswer)
    async def unpin_message(caller: Caller, message_id: str) -> PinAnswer:
        """Unpin a message."""
        await pins.unpin(caller, message_id)
        return PinAnswer(Pin(message_id))

    @section.endpoint("GET", "/channels/:channelId/pins", answer=PinnedMessages)
    async def list_channel_pins(caller: Caller, channel_id: str) -> PinnedMessages:
        """Read the pinned messages of a channel."""
        return PinnedMessages(await pins.of_channel(caller, channel_id))

    @section.endpoint("GET", "/conversations/:conversationId/pins", answer=PinnedMessages)
    async def list_conversation_pins(caller: Caller, conversation_id: str) -> PinnedMessages:
        """Read the pinned messages of a conversation (participants)."""
        return PinnedMessages(await pins.of_conversation(caller, conversation_id))

    return section
