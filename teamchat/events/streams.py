"""What a stream says about itself."""

from __future__ import annotations

from teamchat.events.event import CONNECTED, Payload


class Connected(Payload, frozen=True):
    """A stream begins; the log has no such event. `timestamp` is ISO 8601, UTC."""

    type = CONNECTED
    message: str
    timestamp: str
    user_id: str
    connection_id: str


class Resync(Payload, frozen=True):
    """Load anew: the log no longer reaches back to what was last seen, or much changed (decision D-34)."""

    type = "RESYNC"
