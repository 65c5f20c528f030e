"""Extension I: who is there and who types, on the storage that the tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import UNSET
from teamchat_presence import PRESENCE, TYPING, endpoints
from teamchat_presence.load import LATE_SECONDS, REST_SECONDS
from teamchat_presence.presence import Presence, load_of
from teamchat_presence.typing import Pace, Typists
from teamchat_presence.watching import Watching

from teamchat import BadRequest, Capability, NotFound, Service, Signal, Storage, Unavailable
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.mentions import MENTIONS
from teamchat.model import Caller, Message, now_ms
from teamchat.read_state import READ_STATE
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.levels.service import Notifications
from teamchat.read_state.levels.settings import SettingsChange
from teamchat.read_state.threads.offer import THREADS
from teamchat.testing import CapabilityContract, ServiceContract
from tests.storages import open_storage

NEEDED = [READ_STATE, LEVELS, THREADS, MENTIONS]


class OnAnyStorage:
    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)


class TestPresence(OnAnyStorage, CapabilityContract):
    def capability(self) -> Capability:
        return PRESENCE

    def beside(self) -> Sequence[Capability]:
        return NEEDED

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await Presence(app).choose(caller, "away")


class TestTyping(OnAnyStorage, CapabilityContract):
    def capability(self) -> Capability:
        return TYPING

    def beside(self) -> Sequence[Capability]:
        return [*NEEDED, PRESENCE]


class TestWatching(ServiceContract):
    def make_service(self, app: Application) -> Service:
        return Watching(app)

    @asynccontextmanager
    async def application(self, tmp_path: Path) -> AsyncIterator[Application]:
        async with TestPresence().application(tmp_path) as app:
            yield app


@dataclass
class World:
    """A server with two users, and what was told of users and places."""

    app: Application
    presence: Presence
    typists: Typists
    watching: Watching
    ada: Caller
    bob: Caller
    channel: str
    updates: list[dict[str, Any]] = field(default_factory=list)

    def streams(self, caller: Caller, *active_for: float) -> None:
        """Have somebody's streams be active for so many more seconds each; none are left without any."""
        now = trio.current_time()
        self.app.hub.activity.now(caller.user.id, [now + seconds for seconds in active_for])

    async def seen_by(self, asker: Caller, other: Caller) -> Any:
        [found] = await self.presence.of(asker, other.user.id)
        return found

    async def told(self) -> list[tuple[str, str]]:
        """Return what is told now."""
        self.updates.clear()
        await self.watching.tell()
        return [(one["userId"], one["status"]) for one in self.updates]

    async def change(self, caller: Caller, **asked: Any) -> None:
        await Notifications(self.app).change(caller, SettingsChange(**asked))

    async def hide(self, caller: Caller, by: Any) -> None:
        """Hide somebody, by their status or by their settings."""
        if by == "offline":
            await self.presence.choose(caller, "offline")
            assert await self.presence.chosen(caller) == "offline"
        else:
            await self.change(caller, **by)

    def typing(self) -> list[tuple[Any, ...]]:
        return [(one.asked_as, one.watched, one.by) for one in self.app.hub.signalling._inbox.waiting]


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[World]:
    async with TestTyping().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await user("admin@localhost")
        await app.accounts.users.add(ada, "bob@example.org")
        [channel] = await app.chat.channels.list(ada)
        watching = Watching(app)
        world = World(
            app, Presence(app), Typists(app), watching, ada, await user("bob@example.org"), channel.id
        )

        async def hear(signals: dict[str, Signal]) -> None:
            world.updates += [
                {"userId": user, "status": vars_of(one)["status"]} for user, one in signals.items()
            ]

        app.hub.signalling.hand_out_about = hear  # type: ignore[method-assign,assignment]
        yield world


def vars_of(signal: Signal) -> dict[str, Any]:
    return {name: getattr(signal, name) for name in signal.__struct_fields__}


async def test_who_is_asked_for_is_told_as_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        bob = await world.seen_by(world.ada, world.bob)
        assert (bob.status, bob.last_seen, bob.is_dnd) == ("offline", UNSET, UNSET)
        world.streams(world.bob, 90, -1)
        assert (await world.seen_by(world.ada, world.bob)).status == "online"
        world.streams(world.bob)
        bob = await world.seen_by(world.ada, world.bob)
        assert bob.status == "online", "a short break shows nothing"


async def test_unknown_users_are_left_out_and_too_many_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        ids = ["0" * 32, "nonsense", world.ada.user.id, "", world.ada.user.id]
        assert [one.user_id for one in await world.presence.of(world.ada, ",".join(ids))] == [
            world.ada.user.id
        ]
        with pytest.raises(BadRequest, match="more than 200"):
            await world.presence.of(world.ada, ",".join(f"{number:032x}" for number in range(201)))


async def test_without_ids_it_is_those_with_whom_one_shares_a_place(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        assert [one.user_id for one in await world.presence.of(world.ada, None)] == [world.bob.user.id]


@pytest.mark.parametrize("hides", [{"share_presence": False}, "offline"])
async def test_who_hides_is_not_among_those_who_are_there(tmp_path: Path, hides: Any) -> None:
    async with opened(tmp_path) as world:
        without_a_stream = await world.presence.of(world.ada, None)
        await world.hide(world.bob, hides)
        world.streams(world.bob, 90)
        assert await world.presence.of(world.ada, None) == without_a_stream == []
        group = await world.app.chat.channels.create(world.ada, NewPrivateChannel("Two of us"))
        await world.app.chat.members.add(world.ada, group.id, [world.bob.user.id])
        [bob] = await world.presence.of(world.ada, None)
        assert (bob.user_id, bob.status) == (world.bob.user.id, "offline")
        world.streams(world.bob)
        world.app.hub.activity._own.clear()
        assert await world.presence.of(world.ada, None) == [bob], "as if he was not there"


@pytest.mark.parametrize("hides", [{"share_presence": False}, "offline"])
async def test_who_hides_is_offline_for_others_and_sees_the_truth_of_themselves(
    tmp_path: Path, hides: Any
) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        assert await world.told() == [(world.bob.user.id, "online")]
        await world.hide(world.bob, hides)
        found = await world.seen_by(world.ada, world.bob)
        assert (found.status, found.last_seen) == ("offline", UNSET)
        assert (await world.seen_by(world.bob, world.bob)).status == "online"
        await world.watching._read_choices()
        assert await world.told() == [(world.bob.user.id, "offline")]
        world.streams(world.bob)
        assert await world.told() == []
        await world.typists.tell(world.bob, world.channel, None, is_typing=True)
        assert world.typing() == []


async def test_of_who_chose_to_be_away_it_is_not_told_when_they_were_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.presence.choose(world.bob, "away")
        world.streams(world.bob, 90)
        assert await world.told() == [(world.bob.user.id, "away")]
        found = await world.seen_by(world.ada, world.bob)
        assert (found.status, found.last_seen) == ("away", UNSET)
        world.streams(world.bob, -1000)
        assert (await world.seen_by(world.ada, world.bob)).last_seen is UNSET
        assert (await world.seen_by(world.bob, world.bob)).status == "online", "to themselves, what is so"


async def test_who_paused_is_told_beside_their_status(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        await world.told()
        await world.change(world.bob, paused_until=now_ms() + 60_000)
        found = await world.seen_by(world.ada, world.bob)
        assert (found.status, found.is_dnd) == ("online", True)
        await world.watching._read_choices()
        assert await world.told() == [(world.bob.user.id, "online")]


async def test_what_flickers_is_told_once_and_what_is_as_it_was_not_at_all(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for _ in range(3):
            world.streams(world.bob, 90)
            world.streams(world.bob)
        world.streams(world.bob, 90)
        world.streams(world.ada, -1000)
        assert sorted(await world.told()) == sorted(
            [(world.bob.user.id, "online"), (world.ada.user.id, "away")]
        )
        world.streams(world.bob, 91)
        assert await world.told() == []


async def test_who_is_deactivated_is_offline_at_once_and_when_they_were_seen_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        assert await world.told() == [(world.bob.user.id, "online")]
        await world.app.accounts.users.deactivate(world.ada, world.bob.user.id)
        world.streams(world.bob)
        found = await world.seen_by(world.ada, world.bob)
        assert found.status == "offline"
        assert found.last_seen is not UNSET
        assert await world.told() == [(world.bob.user.id, "offline")]
        await world.app.accounts.users.activate(world.ada, world.bob.user.id)
        world.streams(world.bob, 90)
        assert await world.told() == [(world.bob.user.id, "online")]


async def test_who_is_removed_is_told_to_be_offline_at_once_and_is_not_found(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        assert await world.told() == [(world.bob.user.id, "online")]
        await world.app.accounts.users.remove(world.ada, world.bob.user.id)
        world.streams(world.bob)
        assert await world.presence.of(world.ada, world.bob.user.id) == []
        assert await world.told() == [(world.bob.user.id, "offline")]
        assert await world.told() == []


async def test_who_leaves_is_kept_with_the_minute_in_which_they_were_seen(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        await world.told()
        await world.watching.keep()
        async with world.app.storage.read() as tx:
            [(seen_at,)] = await tx.fetch("select seen_at from presence")
        assert seen_at % 60_000 == 0
        world.app.hub.activity._own.clear()  # as after a restart
        found = await world.seen_by(world.ada, world.bob)
        assert (found.status, found.last_seen) == ("offline", seen_at)


async def test_typing_is_told_to_who_watches_the_place_once_in_three_seconds(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for is_typing in (True, True, False, False, True):
            await world.typists.tell(world.bob, world.channel, None, is_typing=is_typing)
        [only] = world.app.hub.signalling._inbox.waiting
        assert (only.asked_as, only.watched, only.by) == ("typing", world.channel, world.bob.user.id)
        assert '"threadId":null' in only.payload


async def test_who_does_not_see_a_place_or_thread_is_told_that_there_is_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        secret = await world.app.chat.channels.create(world.ada, NewPrivateChannel("Secret"))
        message = await world.app.chat.messages.post(world.ada, secret.id, Draft("Between us"))
        for place, thread in (
            (secret.id, None),
            ("0" * 32, None),
            (world.channel, message.id),
            (world.channel, "0" * 32),
        ):
            with pytest.raises(NotFound):
                await world.typists.tell(world.bob, place, thread, is_typing=True)
        with pytest.raises(NotFound):  # seen, and in another place
            await world.typists.tell(world.ada, world.channel, message.id, is_typing=True)
        assert world.typing() == []
        await world.typists.tell(world.ada, secret.id, message.id, is_typing=True)
        [told] = world.app.hub.signalling._inbox.waiting
        assert told.audience == (await _room(world, secret.id)).audience_of(message.id)


async def _room(world: World, room_id: str) -> Any:
    async with world.app.storage.read() as tx:
        return await world.app.room(tx, world.ada, room_id)


def test_a_pace_lets_others_through_and_remembers_a_bounded_number() -> None:
    async def play() -> None:
        pace = Pace()
        for number in range(10_000):
            assert pace.lets((str(number), "place", None), is_typing=True)
        assert len(pace._begun) <= 4096
        assert not pace.lets(("9999", "place", None), is_typing=True)
        assert pace.lets(("9999", "place", "thread"), is_typing=True)
        await trio.sleep(3)
        assert pace.lets(("9999", "place", None), is_typing=True)

    trio.run(play, clock=trio.testing.MockClock(autojump_threshold=0))


async def test_who_asks_who_is_there_gives_way_to_messages(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        section = endpoints.presence(world.presence)
        assert {one.rule for one in section.endpoints if one.gives_way} == {"/presence"}


async def test_a_busy_server_puts_presence_off_and_says_when_to_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.streams(world.bob, 90)
        load_of(world.app).slept(LATE_SECONDS + 0.1)
        with pytest.raises(Unavailable) as refused:
            await world.presence.of(world.ada, None)
        assert refused.value.retry_after == REST_SECONDS
        assert await world.told() == []
        load_of(world.app)._busy_until = 0
        assert await world.told() == [(world.bob.user.id, "online")]
