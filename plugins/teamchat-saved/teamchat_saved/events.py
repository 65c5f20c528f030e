"""What a user's devices are told of what they keep."""

from teamchat import Payload


class SavedChanged(Payload, frozen=True):
    """A message is kept, with another note or another time perhaps, or is kept no longer.

    What goes with a message that was deleted is told by that event alone.
    """

    type = "SAVED_CHANGED"
    message_id: str
    saved: bool
    remind_at: int | None
