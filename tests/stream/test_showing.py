"""What clients say of their streams: what they watch, whom they name, whether somebody is active (I-1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat import events
from teamchat.errors import NotFound
from teamchat.events import InRoom, Signal
from teamchat.interfaces import SignalCarrier, Storage
from teamchat.interfaces.activity import NEVER
from teamchat.stream.showing import SHOWN, Shown
from tests.storages import open_storage
from tests.stream.wire import Client, World, caller, running, until

PUBLIC, PRIVATE = "a" * 32, "b" * 32
KEY = b"of all processes"


class Typing(Signal, frozen=True):
    """Somebody types."""

    type = "TYPING"
    asked_as = "typing"
    latest_of = ("place_id", "user_id")
    watched_in = "place_id"
    done_by = "user_id"
    place_id: str
    user_id: str


class There(Signal, frozen=True):
    """Somebody is there."""

    type = "THERE"
    asked_as = "presence"
    latest_of = ("user_id",)
    user_id: str


def changed(room: str, epoch: int, *, private: bool, joined: Any = (), left: Any = ()) -> events.Event:
    return events.RoomChanged(room, epoch, private, joined, left).to()


@asynccontextmanager
async def hubs(storage: Storage, way: str, **parts: Any) -> AsyncIterator[World]:
    async with running(storage, way, signals=("typing", "presence"), secret=KEY, **parts) as world:
        yield world


@pytest.fixture
async def world(storage: Storage, way: str) -> AsyncIterator[World]:
    async with hubs(storage, way) as one:
        await one.write(
            changed(PUBLIC, 1, private=False, joined=["ada"]),
            changed(PRIVATE, 1, private=True, joined=["ada", "bob"]),
        )
        await one.at_end()
        yield one


def show(world: World, client: Client, **shown: Any) -> None:
    stream = client.stream
    world.hub.showing.show(stream.connection_id, stream.session_id, Shown(**shown))


def types(world: World, who: str, place: str, *, private: bool) -> None:
    world.hub.signalling.send(Typing(place, who), InRoom(place, 1, private))


async def hears_nothing_before(world: World, *clients: Client) -> None:
    """Expect a signal for everybody as the next thing at each of them."""
    world.hub.signalling.send(There("everybody"), None)
    for client in clients:
        assert (await client.next())["payload"] == {"userId": "everybody"}


async def told(client: Client) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (await client.next())["payload"]
    return found


ASKS = ["typing", "presence"]


async def test_connected_tells_the_id_by_which_a_stream_is_known(world: World) -> None:
    client = await world.opened()
    assert (await client.next())["payload"]["connectionId"] == client.stream.connection_id


async def test_a_stream_of_another_session_is_as_one_that_never_was(world: World) -> None:
    client = await world.connected(caller("ada"))
    answers = []
    for connection_id, session in (
        (client.stream.connection_id, "another"),
        ("0" * 32, "session-of-ada"),
        ("", "session-of-ada"),
        ("ö" * 40, "session-of-ada"),
        (client.stream.connection_id[:-1], "session-of-ada"),
    ):
        with pytest.raises(NotFound) as refused:
            world.hub.showing.show(connection_id, session, Shown(is_active=True))
        answers.append(str(refused.value))
    assert len(set(answers)) == 1
    assert not world.hub.activity.is_active("ada")


async def test_a_stream_that_has_ended_is_one_that_never_was(world: World) -> None:
    client = await world.connected(caller("ada"))
    show(world, client, watch=[PUBLIC], presence_of=[PRIVATE], is_active=True)
    client.leave()
    with pytest.raises(NotFound):
        show(world, client, is_active=True)
    assert not world.hub._streams.watching(PUBLIC)
    assert not world.hub._streams.naming(PRIVATE)
    assert not world.hub.activity.is_active("ada")


async def test_a_stream_is_active_until_it_says_otherwise(world: World) -> None:
    client = await world.connected(caller("ada"))
    assert not world.hub.activity.is_active("ada")
    show(world, client, is_active=True)
    assert world.hub.activity.is_active("ada")
    show(world, client, watch=[PUBLIC])  # what is not named stays
    assert world.hub.activity.is_active("ada")
    show(world, client, is_active=False)
    assert not world.hub.activity.is_active("ada")


async def test_that_nobody_is_active_may_be_said_again_and_counts_from_the_first_time(world: World) -> None:
    client = await world.connected(caller("ada"))
    show(world, client, is_active=False)
    assert world.hub.activity.of("ada").active_until == NEVER, "nobody ever was active"
    show(world, client, is_active=True)
    show(world, client, is_active=False)
    ended = world.hub.activity.of("ada").active_until
    await trio.sleep(0.01)
    show(world, client, is_active=False)
    assert world.hub.activity.of("ada").active_until == ended


async def test_one_stream_of_two_is_enough_to_be_active(world: World) -> None:
    one, other = [await world.connected(caller("ada")) for _ in range(2)]
    show(world, one, is_active=True)
    show(world, other, is_active=False)
    assert world.hub.activity.is_active("ada")
    one.leave()
    assert not world.hub.activity.is_active("ada")
    assert world.hub.activity.of("ada").is_open


async def test_typing_goes_to_who_watches_the_place_and_sees_it_but_not_to_who_types(world: World) -> None:
    ada, bob, carol = [await world.connected(caller(name), asks=ASKS) for name in ("ada", "bob", "carol")]
    for client in (ada, bob, carol):
        show(world, client, watch=[PUBLIC, PRIVATE])
    types(world, "ada", PRIVATE, private=True)
    assert await told(bob) == {"placeId": PRIVATE, "userId": "ada"}
    await hears_nothing_before(world, ada, bob, carol)
    types(world, "ada", PUBLIC, private=False)
    for client in (bob, carol):
        assert await told(client) == {"placeId": PUBLIC, "userId": "ada"}
    show(world, bob, watch=[])
    types(world, "ada", PUBLIC, private=False)
    await told(carol)
    await hears_nothing_before(world, ada, bob, carol)


async def test_nobody_is_told_of_who_was_removed_while_typing(world: World) -> None:
    ada, bob = [await world.connected(caller(name), asks=ASKS) for name in ("ada", "bob")]
    for client in (ada, bob):
        show(world, client, watch=[PRIVATE])
    await world.write(changed(PRIVATE, 2, private=True, left=["bob"]))
    await world.at_end()
    types(world, "bob", PRIVATE, private=True)  # sent just before, at another process
    types(world, "ada", PRIVATE, private=True)
    await hears_nothing_before(world, ada, bob)


async def test_a_signal_that_waited_is_not_sent_for_a_place_that_is_watched_no_more(world: World) -> None:
    bob = await world.opened(caller("bob"), asks=ASKS, starts=False)
    show(world, bob, watch=[PRIVATE])
    types(world, "ada", PRIVATE, private=True)
    await trio.testing.wait_all_tasks_blocked()
    show(world, bob, watch=[PUBLIC])
    world.hub.signalling.send(There("everybody"), None)
    await trio.testing.wait_all_tasks_blocked()
    await bob.server.answer(bob.stream)
    assert await bob.types(1) == ["CONNECTED"]
    assert await told(bob) == {"userId": "everybody"}


async def test_what_is_about_a_user_goes_to_who_names_them_in_one_write(world: World) -> None:
    ada, bob, carol = [await world.connected(caller(name), asks=ASKS) for name in ("ada", "bob", "carol")]
    silent = await world.connected(caller("ada"), asks=["typing"])
    users = [f"{number:032x}" for number in range(3)]
    for client in (ada, silent):
        show(world, client, presence_of=users)
    show(world, bob, presence_of=users[:1])
    chunks = ada.chunks
    await world.hub.signalling.hand_out_about({user: There(user) for user in users})
    assert [(await told(ada))["userId"] for _ in users] == users
    assert ada.chunks == chunks + 1
    assert (await told(bob))["userId"] == users[0]
    await hears_nothing_before(world, ada, bob, carol)
    assert not silent.frames
    show(world, ada, presence_of=users[2:])  # names those alone from now on
    await world.hub.signalling.hand_out_about({user: There(user) for user in users})
    assert (await told(ada))["userId"] == users[2]


async def test_a_stream_of_joined_places_follows_the_public_ones_that_it_watches(world: World) -> None:
    """Extension rule X-9: watching lets it follow what its user sees, and nothing else."""
    bob, carol = [await world.connected(caller(name), joined_alone=True) for name in ("bob", "carol")]
    show(world, carol, watch=[PUBLIC, PRIVATE])

    async def say(number: int, *, private: bool) -> None:
        room = InRoom(PRIVATE if private else PUBLIC, 1, private)
        await world.write(events.DeleteMessage(str(number), "c").to(room))

    await say(1, private=False)
    await say(2, private=True)
    await say(3, private=False)
    assert await carol.ids(2) == ["1", "3"]
    assert await bob.ids(1) == ["2"]
    show(world, carol, watch=[])
    await say(4, private=False)
    await world.write(events.UpdateServerSettings("new").to())
    assert await carol.types(1) == ["UPDATE_SERVER_SETTINGS"]


@asynccontextmanager
async def two(tmp_path: Path, way: str) -> AsyncIterator[tuple[World, World]]:
    """Run two hubs on one storage, as two processes have them, that have heard of each other."""
    async with open_storage(tmp_path) as one, open_storage(tmp_path) as other:
        assert isinstance(one, SignalCarrier)
        assert isinstance(other, SignalCarrier)
        async with hubs(one, way, carrier=one) as here, hubs(other, way, carrier=other) as there:
            with trio.fail_after(30):
                while here.hub.activity.is_alone or there.hub.activity.is_alone:
                    there.hub.activity._send(is_new=True)  # The first one may come before anybody listens.
                    await trio.sleep(0.05)
            yield here, there


async def heard(condition: Any) -> None:
    with trio.fail_after(30):
        while not condition():  # noqa: ASYNC110
            await trio.sleep(0.02)


async def test_what_is_said_to_one_process_reaches_the_stream_at_another(tmp_path: Path, way: str) -> None:
    async with two(tmp_path, way) as (here, there):
        client = await there.connected(caller("ada"))
        users = [f"{number:032x}" for number in range(200)]
        show(here, client, watch=[PUBLIC], presence_of=users, is_active=True)
        await heard(lambda: client.stream.presence_of == tuple(users))
        assert client.stream.watches == (PUBLIC,)
        assert there.hub.activity.is_active("ada")
        await heard(lambda: here.hub.activity.is_active("ada"))
        show(here, client, presence_of=users[:1], is_active=False)
        await heard(lambda: client.stream.presence_of == (users[0],))
        await heard(lambda: not here.hub.activity.is_active("ada"))
        assert here.hub.activity.of("ada").is_open
        client.leave()
        await heard(lambda: not here.hub.activity.of("ada").is_open)
        with pytest.raises(NotFound):
            here.hub.showing.show(client.stream.connection_id, "another", Shown(is_active=True))


async def test_who_is_there_is_told_to_a_process_that_begins(tmp_path: Path, way: str) -> None:
    async with (
        open_storage(tmp_path) as one,
        open_storage(tmp_path) as other,
        hubs(one, way, carrier=one) as here,
    ):
        client = await here.connected(caller("ada"))
        show(here, client, is_active=True)
        async with hubs(other, way, carrier=other) as there:
            await heard(lambda: not here.hub.activity.is_alone or there.hub.activity._send(is_new=True))
            await heard(lambda: there.hub.activity.is_active("ada"))


async def test_a_part_that_belongs_to_an_older_word_is_passed_over(tmp_path: Path, way: str) -> None:
    async with two(tmp_path, way) as (here, there):
        client = await there.connected(caller("ada"))
        id_, user = client.stream.connection_id, "c" * 32
        here.hub.signalling.tell(SHOWN, f'["{id_}", "old", false, null, ["{user}"], null]')
        here.hub.signalling.tell(SHOWN, "no JSON")
        show(here, client, watch=[PUBLIC])
        await heard(lambda: client.stream.watches == (PUBLIC,))
        assert client.stream.presence_of == ()


async def test_nobody_is_heard_of_by_who_is_alone(world: World) -> None:
    assert world.hub.activity.is_alone
    assert world.hub.activity.there() == set()
    await until(lambda: not world.hub.signalling._outbox.waiting)
