"""An event about a room reaches who sees the room now and saw it then: live, from memory and from the log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamchat import events
from teamchat.chat import membership
from teamchat.events import InRoom
from teamchat.interfaces import Storage, Transaction
from teamchat.model.ids import new_id
from teamchat.stream.delivery import addressed
from teamchat.stream.recent import Recent
from teamchat.stream.sse import Frame
from teamchat.stream.transport import DirectTransport
from tests.storages import open_storage
from tests.stream.wire import WAYS, Client, World, big, caller, running, until

MARKED = "marks"
USERS = ("alice", "bob", "carol")
ROADS = [pytest.param(10_000, id="from memory"), pytest.param(0, id="from the log")]


class Room:
    """A room in the storage, and what is said and changed in it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.id = new_id()
        self.audience = InRoom(self.id, 0, is_private=False)

    async def make(self) -> Room:
        async with self.world.storage.write() as tx:
            for user in USERS:
                await tx.fetch(
                    """insert into users (id, user_name, email, is_admin, created_at)
                    values ($1, $1, $1, 0, 1) on conflict do nothing""",
                    user,
                )
            await tx.fetch("insert into rooms (id, kind, created_at) values ($1, 'channel', 1)", self.id)
        return self

    async def change(self, **changes: Any) -> None:
        async with self.world.storage.write() as tx:
            await self.change_in(tx, **changes)

    async def change_in(self, tx: Transaction, **changes: Any) -> None:
        self.audience = await membership.change(tx, self.id, **changes)

    def said(self, number: object) -> events.Event:
        return events.DeleteMessage(str(number), self.id).to(self.audience)

    async def say(self, *numbers: object) -> None:
        await self.world.write(*[self.said(number) for number in numbers])


async def all_of(client: Client, world: World) -> list[str]:
    """Return what a client gets until the end of the log, but for the marks that are set there."""
    mark = new_id()
    await world.write(events.DeleteMessage(mark, MARKED).to())
    seen: list[str] = []
    while (said := (await client.next())["payload"])["id"] != mark:
        if said["channelId"] != MARKED:
            seen.append(said["id"])
    return seen


@pytest.fixture(params=ROADS)
def most_events(request: pytest.FixtureRequest) -> int:
    return int(request.param)


async def resumed(world: World, user: str) -> list[str]:
    """Return what a user who saw nothing yet is given when they come."""
    await world.at_end()
    client = await world.connected(caller(user), "0")
    told = await all_of(client, world)
    client.leave()
    return told


async def test_x5_who_joins_a_private_room_is_told_what_comes_after(
    storage: Storage, way: str, most_events: int
) -> None:
    async with running(storage, way, recent=Recent(most_events)) as world:
        room = await Room(world).make()
        await room.change(is_private=True, joined=["alice"])
        live = {user: await world.connected(caller(user), "") for user in USERS}
        await world.at_end()  # A stream that resumes goes by who is in the room by then.
        await room.say(1)
        async with storage.write() as tx:
            await room.change_in(tx, joined=["bob"])
            await tx.append(room.said("the join itself"))
        await room.say(2)
        assert await all_of(live["alice"], world) == ["1", "the join itself", "2"]
        assert [await resumed(world, user) for user in USERS] == [
            ["1", "the join itself", "2"],
            ["the join itself", "2"],
            [],
        ]


async def test_x5_who_left_is_told_nothing_more_not_even_of_before(
    storage: Storage, way: str, most_events: int
) -> None:
    async with running(storage, way, recent=Recent(most_events)) as world:
        room = await Room(world).make()
        await room.change(is_private=True, joined=["alice", "bob"])
        bob = await world.connected(caller("bob"), "")
        await world.at_end()  # A stream that resumes goes by who is in the room by then.
        await room.say(1)
        assert await all_of(bob, world) == [
            "1"
        ]  # What waits for them is not sent any more once they are out.
        async with storage.write() as tx:
            await room.change_in(tx, left=["bob"])
            await tx.append(room.said("the removal itself"))
        await room.say(2)
        assert await all_of(bob, world) == []
        assert await resumed(world, "bob") == []
        await room.change(joined=["bob"])
        await room.say(3)
        assert await resumed(world, "bob") == ["3"], "what was said between, and before, stays unseen"


async def test_x5_what_was_said_in_a_channel_that_is_private_now_is_for_its_members(
    storage: Storage, way: str, most_events: int
) -> None:
    async with running(storage, way, recent=Recent(most_events)) as world:
        room = await Room(world).make()
        carol = await world.connected(caller("carol"), "")
        await world.at_end()  # A stream that resumes goes by who is in the room by then.
        await room.say(1)
        await room.change(joined=["alice"])
        await room.say(2)
        assert await all_of(carol, world) == ["1", "2"]
        await room.change(is_private=True)
        await room.say(3)
        assert await all_of(carol, world) == []
        assert await resumed(world, "alice") == ["1", "2", "3"]
        assert await resumed(world, "carol") == []
        await room.change(is_private=False)
        await room.say(4)
        assert await resumed(world, "carol") == ["1", "2", "4"]


async def test_a_restarted_server_knows_who_is_in_which_room(
    storage: Storage, way: str, most_events: int
) -> None:
    async with running(storage, way, recent=Recent(most_events)) as world:
        room = await Room(world).make()
        await room.change(is_private=True, joined=["alice", "bob"])
        await room.say(1)
        await room.change(left=["bob"], joined=["carol"])
    async with running(storage, way, recent=Recent(most_events)) as world:
        room.world = world
        assert [await resumed(world, user) for user in USERS] == [["1"], [], []]
        live = [await world.connected(caller(user), "") for user in USERS]
        await world.at_end()  # A stream that resumes goes by who is in the room by then.
        await room.say(2)
        assert [await all_of(client, world) for client in live] == [["2"], [], ["2"]]


class Model:
    """What everybody should get of a room."""

    def __init__(self) -> None:
        self.is_private = False
        self.members: dict[str, int] = {}
        self.said: list[tuple[str, frozenset[str] | None]] = []  # None: it was public

    def sees(self, user: str) -> bool:
        return not self.is_private or user in self.members

    def told(self, user: str, joined_at: dict[str, int]) -> list[str]:
        """Return what a user is told who comes now."""
        if not self.sees(user):
            return []
        return [
            number
            for place, (number, seen) in enumerate(self.said)
            if seen is None or (user in seen and user in self.members and joined_at[user] <= place)
        ]


STEPS = st.lists(
    st.tuples(st.sampled_from(["join", "leave", "private", "public", "say", "say"]), st.sampled_from(USERS)),
    max_size=30,
)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(STEPS, st.sampled_from(WAYS), st.sampled_from([0, 5, 10_000]))
def test_x5_whatever_changes_live_and_resumed_streams_tell_what_the_model_says(
    steps: Sequence[tuple[str, str]], way: str, most_events: int
) -> None:
    async def main() -> None:
        with TemporaryDirectory() as directory:
            async with (
                open_storage(directory) as storage,
                running(storage, way, recent=Recent(most_events)) as world,
            ):
                await _follow(world, steps)

    trio.run(main)


async def _follow(world: World, steps: Sequence[tuple[str, str]]) -> None:
    room, model = await Room(world).make(), Model()
    await room.change()  # as every room in the log begins
    live = {user: await world.connected(caller(user), "") for user in USERS}
    scoped = {user: await world.connected(caller(user), "", joined_alone=True) for user in USERS[1:]}
    await world.at_end()  # All are live now: a stream that resumes goes by who is in the room by then.
    heard: dict[str, list[str]] = {user: [] for user in USERS}
    heard_joined: dict[str, list[str]] = {user: [] for user in USERS}

    async def hear() -> None:
        """Have everybody get what waits for them: who loses sight of it is not sent it any more."""
        for all_heard, clients in ((heard, live), (heard_joined, scoped)):
            for one, client in clients.items():
                assert await all_of(client, world) == all_heard[one]
                all_heard[one].clear()

    joined_at: dict[str, int] = {}
    for number, (what, user) in enumerate(steps):
        if what == "say":
            model.said.append((str(number), frozenset(model.members) if model.is_private else None))
            for one in USERS:
                if model.sees(one):
                    heard[one].append(str(number))
                if one in model.members:
                    heard_joined[one].append(str(number))
            await room.say(number)
        elif what == "join" and user not in model.members:
            model.members[user] = joined_at[user] = len(model.said)
            await room.change(joined=[user])
        elif what == "leave" and user in model.members:
            del model.members[user]
            await hear()
            await room.change(left=[user])
        elif what in ("private", "public"):
            model.is_private = what == "private"
            await hear()
            await room.change(is_private=model.is_private)
    await hear()
    for user in USERS:
        assert await resumed(world, user) == model.told(user, joined_at)


async def test_a_stream_begins_at_the_end_of_the_log_as_it_was_when_it_was_asked_for(
    storage: Storage, way: str
) -> None:
    """What was answered before does not come as new, however far behind the log the hub is."""
    async with running(storage, way) as world:
        for number in range(30):
            await world.write(events.DeleteMessage(f"before {number}", "c").to())
            client = await world.connected()  # without a look at where the hub is
            await world.write(events.DeleteMessage(f"after {number}", "c").to())
            assert (await client.next())["payload"]["id"] == f"after {number}"
            client.leave()


async def test_x9_a_stream_may_be_told_of_those_rooms_alone_that_its_user_is_in(
    storage: Storage, way: str, most_events: int
) -> None:
    async with running(storage, way, recent=Recent(most_events)) as world:
        room = await Room(world).make()
        await room.change(joined=["alice"])
        live = {user: await world.connected(caller(user), "", joined_alone=True) for user in USERS[:2]}
        everything = await world.connected(caller("carol"), "")
        await world.at_end()
        await room.say(1)
        assert await all_of(live["alice"], world) == ["1"]
        await room.change(joined=["bob"], left=["alice"])
        await room.say(2)
        assert await all_of(live["alice"], world) == []
        assert await all_of(live["bob"], world) == ["2"]
        assert await all_of(everything, world) == ["1", "2"]
        again = await world.connected(caller("bob"), "0", joined_alone=True)
        assert await all_of(again, world) == ["1", "2"], "of a public room also what was before"


@pytest.mark.parametrize(("is_private", "wanted"), [(False, ["1", "2", "3"]), (True, ["3"])])
async def test_x9_who_has_left_and_is_back_gets_each_event_once_that_they_see(
    storage: Storage, way: str, most_events: int, is_private: bool, wanted: list[str]
) -> None:
    """Of a public room that is all, for everybody sees it; of a private one, what was said since (X-5)."""
    async with running(storage, way, recent=Recent(most_events)) as world:
        room = await Room(world).make()
        await room.change(joined=["alice", "bob"], is_private=is_private)
        bob = await world.connected(caller("bob"), "", joined_alone=True)
        await room.say("before")
        assert await all_of(bob, world) == ["before"]
        position = str(bob.last_id)
        await room.say(1)
        await room.change(left=["bob"])
        await room.say(2)
        await room.change(joined=["bob"])
        await room.say(3)
        await world.at_end()
        again = await world.connected(caller("bob"), position, joined_alone=True)
        assert await all_of(again, world) == wanted


@pytest.mark.parametrize("joined_alone", [False, True])
async def test_an_event_of_a_private_room_costs_the_same_however_many_streams_are_open_elsewhere(
    storage: Storage, way: str, joined_alone: bool
) -> None:
    async with running(storage, way) as world:
        room = await Room(world).make()
        await room.change(is_private=True, joined=["alice", "bob"])
        for user in ("alice", "bob"):
            await world.connected(caller(user), joined_alone=joined_alone)
        await world.at_end()
        said = room.said(1)
        frames = [Frame(events.LoggedEvent(1, said.type, said.payload, said.audience))]
        calls = []
        for elsewhere in (3, 40):
            for number in range(elsewhere):
                await world.opened(caller(f"elsewhere {number}"), joined_alone=joined_alone)
            calls.append(calls_of(lambda: addressed(frames, world.hub._streams)))
        assert calls[0] == calls[1]


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls, those of the interpreter included."""
    counted = 0

    def count(_frame: object, what: str, _argument: object) -> None:
        nonlocal counted
        counted += what in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


async def test_x5_what_waits_for_a_slow_client_is_not_sent_to_who_has_lost_the_room_since(
    world: World,
) -> None:
    """Also of a client without ids; all else comes once, in order, and the stream is live again."""
    room = await Room(world).make()
    await room.change(is_private=True, joined=["alice", "bob"])
    for last_event_id in (None, ""):
        slow = await world.connected(caller("alice"), last_event_id)
        ahead = [new_id() for _ in range(30)]
        for number in ahead:
            await world.write(*[events.DeleteMessage(number, MARKED).to(), big(8000)])
        secret, after = new_id(), new_id()
        await room.say(secret)
        await world.at_end()
        assert slow.stream.size > 0, "the client took everything at once"
        await room.change(is_private=True, left=["alice"])
        await room.say(new_id())
        await world.write(events.DeleteMessage(after, MARKED).to())
        await world.at_end()
        seen = [each for each in await slow.ids(61) if each]
        assert seen == [*ahead, after]
        assert slow.last.startswith("id: ") is (last_event_id is not None)
        await world.at_end()
        assert slow.stream.is_live
        assert (slow.stream.size, world.hub.backlog.held) == (0, 0)
        await world.write(events.DeleteMessage("live", MARKED).to())
        assert await slow.ids(1) == ["live"]
        await room.change(is_private=True, joined=["alice"])
        await world.at_end()
        await slow.connection.aclose()


class Stalled:
    """A `DirectStream` that takes nothing until it is told to."""

    def __init__(self) -> None:
        self.sent = b""
        self.takes = trio.Event()

    def send_now(self, data: bytes) -> int:
        if not self.takes.is_set():
            return 0
        self.sent += data
        return len(data)

    async def wait_writable(self) -> None:
        await self.takes.wait()

    def abort(self) -> None:
        raise AssertionError("nobody is cut here")


async def test_x5_what_a_client_took_nothing_of_yet_is_not_sent_to_who_has_lost_the_room_since(
    world: World,
) -> None:
    room = await Room(world).make()
    await room.change(is_private=True, joined=["alice", "bob"])
    await world.at_end()
    wire = Stalled()
    stream = await world.hub.open(caller("alice"), None, DirectTransport(wire, lambda: None))
    stream.start()
    await room.say("secret")
    await world.at_end()
    assert stream.size > 0
    await room.change(is_private=True, left=["alice"])
    await world.at_end()
    wire.takes.set()
    await until(lambda: stream.is_live and stream.send_now is not None)
    assert wire.sent == b""
    stream.leave()
    assert world.hub.backlog.held == 0
