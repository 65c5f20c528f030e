"""A capability tells of what it has declared, and the error names it otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from teamchat import Capability, Changes, Event, Parts, Payload, Room, Signal, StorageError, Transaction
from teamchat.application import Application
from teamchat.capabilities import ChangeFailed
from teamchat.chat import Draft
from teamchat.errors import PluginError
from teamchat.events import Resync
from teamchat.model import Message
from tests.capabilities.serving import Served, served


class Voted(Payload, frozen=True):
    """It is declared."""

    type = "org.example.voted"


class Hidden(Payload, frozen=True):
    """It is not."""

    type = "org.example.hidden"


class Typed(Signal, frozen=True):
    """A signal that is declared."""

    type = "org.example.typed"
    asked_as = "typing"


class Secret(Signal, frozen=True):
    """A signal that is not."""

    type = "org.example.secret"
    asked_as = "typing"


class Announcing(Changes):
    """Appends an event when somebody posts."""

    def __init__(self, event: Event) -> None:
        self._event = event

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        await tx.append(self._event)


class Kept:
    """Keeps the façade that the capability is given."""

    def __init__(self, changes: Changes | None = None) -> None:
        self.app: Any = None
        self.changes = changes

    def capability(self, name: str = "polls", needs: Sequence[str] = ()) -> Capability:
        def parts(app: Any, _: Any) -> Parts:
            self.app = app
            return Parts(changes=self.changes)

        events = [Voted, Typed] if name == "polls" else []
        return Capability(name=name, events=events, needs=needs, parts=parts)


async def types(app: Application) -> list[str]:
    async with app.storage.read() as tx:
        rows = await tx.fetch(
            "select type from events where type like 'org.%' or type = 'RESYNC' order by seq"
        )
    return [kind for (kind,) in rows]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Hidden().to(), "the capability polls does not declare it among its events"),
        (Event("org.example.hidden", "{}"), "the capability polls does not declare it"),
        (Typed().to(), r"it is a signal of the capability polls, which app\.signal sends"),
    ],
)
async def test_an_event_that_is_not_declared_is_refused_in_its_own_transactions(
    tmp_path: Path, event: Event, words: str
) -> None:
    kept = Kept()
    async with served(tmp_path, kept.capability()) as here:
        with pytest.raises(StorageError, match=rf"^The event org\.example\.\w+ can't be appended: {words}"):
            async with kept.app.storage.write() as tx:
                await tx.append(event)
        async with kept.app.storage.write() as tx:
            await tx.append(Voted().to())
            await tx.append(Resync().to())  # of teamchat's own, which what it calls may append
        assert await types(here.app) == [Voted.type, "RESYNC"]


async def test_what_another_capability_declares_is_not_its_own(tmp_path: Path) -> None:
    games = Kept()
    async with served(tmp_path, Kept().capability(), games.capability("games")):
        with pytest.raises(StorageError, match="the capability games does not declare it"):
            async with games.app.storage.write() as tx:
                await tx.append(Voted().to())


async def test_an_event_that_is_not_declared_fails_the_change_it_was_appended_in(tmp_path: Path) -> None:
    async with served(tmp_path, Kept(Announcing(Hidden().to())).capability()) as here:
        with pytest.raises((StorageError, ChangeFailed), match="capability polls"):
            await post(here)
        assert await types(here.app) == []
        async with here.app.storage.read() as tx:
            assert await tx.fetch("select id from messages") == []


async def test_one_that_is_declared_is_kept_with_the_change(tmp_path: Path) -> None:
    async with served(tmp_path, Kept(Announcing(Voted().to())).capability()) as here:
        await post(here)
        assert await types(here.app) == [Voted.type]


async def test_a_signal_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    kept = Kept()
    async with served(tmp_path, kept.capability()) as here:
        send: Callable[..., None] = kept.app.signal
        with pytest.raises(StorageError, match=r"org\.example\.secret can't be sent: the capability polls"):
            send(Secret(), None)
        send(Typed(), None)
        assert here.app.capabilities.signals == {"typing"}


async def test_a_signal_of_a_capability_that_one_needs_is_ones_own(tmp_path: Path) -> None:
    near, far = Kept(), Kept()
    needing = near.capability("games", needs=["polls"])
    async with served(tmp_path, Kept().capability(), needing, far.capability("charts")):
        near.app.signal(Typed(), None)
        with pytest.raises(StorageError, match="the capability charts does not declare it"):
            far.app.signal(Typed(), None)


async def test_the_server_itself_appends_what_it_likes(tmp_path: Path) -> None:
    async with served(tmp_path, Kept().capability()) as here:
        async with here.app.storage.write() as tx:
            await tx.append(Event("org.example.hidden", "{}"))
        assert await types(here.app) == [Hidden.type]


@pytest.mark.parametrize("wrong", [{"asked_as": "a,b"}, {"asked_as": "a", "latest_of": ("nowhere",)}, {}])
async def test_a_signal_that_nobody_could_ask_for_is_refused_at_the_start(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    odd = type(Signal)("Odd", (Signal,), {"type": "org.example.odd", **wrong}, frozen=True)
    with pytest.raises(PluginError, match=r"polls of the plugin acme .* signal org\.example\.odd"):
        async with served(tmp_path, Capability(name="polls", events=[odd])):
            pass


async def post(here: Served) -> None:
    ada = await here.caller()
    [channel] = await here.app.chat.channels.list(ada)
    await here.app.chat.messages.post(ada, channel.id, Draft("hello"))
