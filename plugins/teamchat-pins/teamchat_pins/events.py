"""What is told to everybody who sees the place of a message that is pinned, or is no longer."""

from teamchat import Payload


class MessagePinned(Payload, frozen=True):
    """A message was pinned, by a user, at a time in epoch milliseconds."""

    type = "MESSAGE_PINNED"
    changes_pages_of = "place_id"
    message_id: str
    place_id: str
    by: str
    at: int


class MessageUnpinned(Payload, frozen=True):
    """A message is pinned no longer. One that was deleted is told by its own event alone."""

    type = "MESSAGE_UNPINNED"
    changes_pages_of = "place_id"
    message_id: str
    place_id: str
    by: str
    at: int
