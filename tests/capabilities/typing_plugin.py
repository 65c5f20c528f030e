"""A plugin with a capability of signals, for servers of the tests: people tell that they type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from teamchat import Capability, Parts, Signal, hookimpl
from teamchat.model import Caller
from teamchat.web import Section, Success


class Typed(Signal, frozen=True):
    """Somebody types in a channel."""

    type = "org.example.typing.typed"
    asked_as = "acme-typing"
    latest_of = ("channel_id", "by")
    channel_id: str
    by: str


def parts(app: Any, _: Any) -> Parts:
    section = Section("acme-typing")

    @section.endpoint("POST", "/channels/:channelId/typed", answer=Success)
    async def tell(caller: Caller, channel_id: str) -> Success:
        """Tell who sees the channel that one types."""
        async with app.storage.read() as tx:
            room = await app.channel(tx, caller, channel_id)
        app.signal(Typed(channel_id, caller.user.id), room.audience)
        return Success()

    return Parts(routes=[section])


TYPING = Capability(name="org.example.typing", events=[Typed], parts=parts)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [TYPING]
