"""What is not for one's own messages can be held to the contract too: its other user sees them."""

from __future__ import annotations

from teamchat import Capability
from teamchat.application import Application
from teamchat.errors import Forbidden
from teamchat.model import Caller, Message
from teamchat.testing import CapabilityContract


async def thank(app: Application, caller: Caller, message: Message) -> None:
    async with app.storage.read() as tx:
        seen = await app.message(tx, caller, message.id)
    if seen.author_id == caller.user.id:
        raise Forbidden("Nobody thanks themselves.")


class TestThanks(CapabilityContract):
    def capability(self) -> Capability:
        return Capability(name="org.example.thanks")

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        other = await self.other(app)
        await thank(app, other, message)
        assert (await self.other(app)).user.id == other.user.id
        assert message.author.id == caller.user.id
