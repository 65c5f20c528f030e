"""Signals reach the streams that ask for them and see what they are about; they stand in no log (X-8)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from teamchat import events
from teamchat.errors import StorageError
from teamchat.events import InRoom, Signal
from teamchat.interfaces import SignalCarrier, Storage
from teamchat.stream.signals import MOST_KEPT, MOST_SIGNAL_BYTES
from tests.storages import open_storage
from tests.stream.wire import Client, World, caller, running, until


class Typed(Signal, frozen=True):
    """Somebody types."""

    type = "TYPED"
    asked_as = "typing"
    latest_of = ("by",)
    by: str
    number: int = 0


class Passing(Signal, frozen=True):
    """Something of which none takes another one's turn."""

    type = "PASSING"
    asked_as = "presence"
    number: int
    text: str = ""


class Reached(Signal, frozen=True):
    """How far one has come in a place."""

    type = "REACHED"
    asked_as = "typing"
    latest_of = ("place",)
    place: str
    number: int

    def recency(self) -> tuple[int]:
        return (self.number,)


NAMES = ("typing", "presence")
ROOM = "r" * 32


@asynccontextmanager
async def signalling(storage: Storage, way: str, **parts: Any) -> AsyncIterator[World]:
    async with running(storage, way, signals=NAMES, **parts) as world:
        yield world


def send(world: World, signal: Signal, audience: InRoom | Sequence[str] | None = None) -> None:
    world.hub.signalling.send(signal, audience)


def change(epoch: int, joined: Sequence[str] = (), left: Sequence[str] = ()) -> events.Event:
    return events.RoomChanged(ROOM, epoch, True, joined, left).to()


def room(epoch: int) -> InRoom:
    return InRoom(ROOM, epoch, is_private=True)


async def comes_alone(world: World, client: Client, signal: Signal) -> None:
    """Expect this signal as the next thing of all, though others were sent before."""
    found = await client.next()
    assert found == {"type": signal.type, "payload": json.loads(signal.to().payload)}, found
    assert "id:" not in client.last


async def test_a_signal_goes_to_the_streams_that_ask_for_it_without_an_id(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        asks = await world.connected(caller("a"), "", asks=["typing", "weather"])
        other = await world.connected(caller("b"), "", asks=["presence"])
        none = await world.connected(caller("c"), "")
        send(world, Typed("x"))
        await comes_alone(world, asks, Typed("x"))
        await world.write(events.UpdateServerSettings("new").to())
        for client in (other, none, asks):
            assert (await client.next())["type"] == "UPDATE_SERVER_SETTINGS"
        last = asks.last_id
        asks.leave()
        send(world, Typed("y"))
        await trio.testing.wait_all_tasks_blocked()
        again = await world.connected(caller("a"), last, asks=["typing"])
        send(world, Typed("z"))
        await comes_alone(world, again, Typed("z"))  # nothing is replayed
    assert await storage.log_bounds() == (1, 1)


async def test_users_that_an_audience_names_get_it_and_no_others(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        named = await world.connected(caller("a"), asks=["typing"])
        silent = await world.connected(caller("a"))
        other = await world.connected(caller("b"), asks=["typing"])
        send(world, Typed("x"), ["a", "nobody"])
        await comes_alone(world, named, Typed("x"))
        send(world, Typed("y"))
        await comes_alone(world, other, Typed("y"))
        await world.write(events.UpdateServerSettings("new").to())
        assert (await silent.next())["type"] == "UPDATE_SERVER_SETTINGS"


async def test_none_takes_the_place_of_one_for_other_users(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        clients = [await world.connected(caller(name), asks=["typing"]) for name in ("a", "b")]
        for number, name in enumerate(("a", "b")):  # at once: neither is handed out before the other is sent
            send(world, Reached("there", number), [name])
        for number, client in enumerate(clients):
            await comes_alone(world, client, Reached("there", number))


async def test_none_takes_the_place_of_one_that_tells_of_something_newer(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        quick = await world.connected(caller("a"), asks=["typing"])
        slow = await world.opened(caller("b"), asks=["typing"], starts=False)
        for number in (1, 3, 2):  # as they come from several processes
            send(world, Reached("there", number), ["a", "b"])
        await comes_alone(world, quick, Reached("there", 3))
        for number in (2, 5, 4):  # one by one; for who is slow they wait
            send(world, Reached("there", number), ["b"])
            await trio.testing.wait_all_tasks_blocked()
        await slow.server.answer(slow.stream)
        assert await slow.types(1) == ["CONNECTED"]
        await comes_alone(world, slow, Reached("there", 3))
        await comes_alone(world, slow, Reached("there", 5))


async def test_what_is_about_a_private_room_goes_to_who_sees_it_when_it_is_handed_out(
    storage: Storage, way: str
) -> None:
    async with signalling(storage, way) as world:
        ada, bob = [await world.connected(caller(name), asks=["typing"]) for name in ("ada", "bob")]
        await world.write(change(1, ["ada", "bob"]))
        await world.at_end()
        send(world, Typed("x", 1), room(1))
        for client in (ada, bob):
            await comes_alone(world, client, Typed("x", 1))
        await world.write(change(2, left=["bob"]))
        await world.at_end()
        for epoch in (1, 2):  # the audience may have been read before bob was removed
            send(world, Typed("x", 10 + epoch), room(epoch))
            await comes_alone(world, ada, Typed("x", 10 + epoch))
        carol = await world.connected(caller("carol"), asks=["typing"])
        await world.write(change(3, ["carol"]))
        await world.at_end()
        send(world, Typed("x", 20), room(2))
        await comes_alone(world, ada, Typed("x", 20))
        send(world, Typed("everybody"))
        for client in (bob, carol):
            await comes_alone(world, client, Typed("everybody"))


async def test_a_signal_that_has_waited_is_judged_again(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        await world.write(change(1, ["ada", "bob"]))
        await world.at_end()
        bob = await world.opened(caller("bob"), asks=["typing"], starts=False)
        send(world, Typed("secret"), room(1))
        await trio.testing.wait_all_tasks_blocked()
        await world.write(change(2, left=["bob"]))
        await world.at_end()
        send(world, Typed("everybody"))
        await trio.testing.wait_all_tasks_blocked()
        await bob.server.answer(bob.stream)
        assert await bob.types(1) == ["CONNECTED"]
        await comes_alone(world, bob, Typed("everybody"))


async def test_a_signal_that_knows_of_a_change_waits_for_it(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        await world.write(change(1, ["ada", "bob"]))
        await world.at_end()
        ada, bob = [await world.connected(caller(name), asks=["typing"]) for name in ("ada", "bob")]
        send(world, Typed("x"), room(2))  # sent at another process, which knows already that bob has left
        send(world, Typed("y"))
        await comes_alone(world, bob, Typed("y"))
        await comes_alone(world, ada, Typed("y"))
        await world.write(change(2, left=["bob"]))
        await comes_alone(world, ada, Typed("x"))
        send(world, Typed("z"))
        await comes_alone(world, bob, Typed("z"))


async def test_a_stream_that_resumes_gets_the_latest_once_it_has_caught_up(
    storage: Storage, way: str
) -> None:
    async with signalling(storage, way) as world:
        await world.write(*(events.UpdateServerSettings(str(number)).to() for number in range(300)))
        await world.at_end()
        client = await world.opened(caller("a"), "1", asks=["typing"], starts=False)
        for number in range(3):
            send(world, Typed("x", number))
        await trio.testing.wait_all_tasks_blocked()
        await client.server.answer(client.stream)
        assert await client.types(300) == ["CONNECTED"] + ["UPDATE_SERVER_SETTINGS"] * 299
        await comes_alone(world, client, Typed("x", 2))


async def test_who_reads_slowly_misses_signals_and_no_event_and_is_not_cut(
    storage: Storage, way: str
) -> None:
    async with signalling(storage, way) as world:
        slow = await world.connected(caller("a"), asks=["typing", "presence"])
        quick = await world.connected(caller("b"), asks=["typing"])
        number = 0
        while slow.stream._signals is None:  # until the socket is full
            number += 1
            send(world, Passing(number, "x" * 2000))
            await trio.testing.wait_all_tasks_blocked()
        for further in range(500):
            send(world, Passing(number + 1 + further, "x" * 2000))
            send(world, Typed("x", further))
            await until(lambda: world.hub.signalling._inbox._kept == {})
        await world.write(events.UpdateServerSettings("new").to())
        await world.at_end()
        assert slow.stream.end_reason is None
        assert slow.stream.size <= 16 * 1024 + 4000
        found: list[dict[str, Any]] = []
        while not found or found[-1]["type"] != "UPDATE_SERVER_SETTINGS":
            found.append(await slow.next())
        send(world, Typed("y"))
        while found[-1]["payload"].get("by") != "y":
            found.append(await slow.next())
        typed = [one["payload"] for one in found if one["type"] == "TYPED"]
        assert typed[-2:] == [{"by": "x", "number": 499}, {"by": "y", "number": 0}]
        assert len(found) < number + 2 * MOST_KEPT
        numbers = [one["payload"]["number"] for one in found if one["type"] == "PASSING"]
        assert numbers == sorted(numbers)
        while (await quick.next())["payload"].get("by") != "y":
            pass


async def test_a_session_that_has_ended_gets_no_signal_that_waited(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        client = await world.opened(caller("a", "s"), asks=["typing"], starts=False)
        send(world, Typed("x"))
        await trio.testing.wait_all_tasks_blocked()
        await world.write(events.SessionsEnded(["s"]).to())
        await world.at_end()
        await client.server.answer(client.stream)
        assert (await client.next())["type"] == "CONNECTED"
        await client.end()


async def test_what_is_too_large_is_refused_where_it_is_sent(storage: Storage, way: str) -> None:
    async with signalling(storage, way) as world:
        with pytest.raises(StorageError, match=r"PASSING can't be sent: .* more than 4000 bytes"):
            send(world, Passing(1, "x" * MOST_SIGNAL_BYTES))
        with pytest.raises(StorageError, match="with its audience"):
            send(world, Typed("x"), ["0" * 32] * 200)


async def test_signals_reach_the_streams_of_another_process(tmp_path: Path, way: str) -> None:
    async with open_storage(tmp_path) as one, open_storage(tmp_path) as other:
        assert isinstance(one, SignalCarrier)
        async with signalling(one, way, carrier=one) as here, signalling(other, way, carrier=other) as there:
            near, far = [await world.connected(caller("a"), asks=["typing"]) for world in (here, there)]
            await until_carried(here, far)
            await near.next()
            for world in (here, there):
                await world.at_end()
            await here.write(change(1, ["b"]))  # a is no member
            send(here, Typed("secret"), room(1))
            for number in range(3):
                send(here, Typed("all", number))
            for client in (near, far):
                found: dict[str, Any] = {}
                while found.get("payload") != {"by": "all", "number": 2}:
                    found = await client.next()
                    assert found["payload"]["by"] != "secret"


async def until_carried(world: World, far: Client) -> None:
    """Send until the other side listens, which it has begun to do when this returns."""
    with trio.fail_after(30):
        while True:
            send(world, Typed("first"))
            with trio.move_on_after(0.2):
                await far.next()
                return


async def test_what_is_carried_and_makes_no_sense_is_passed_over(tmp_path: Path, way: str) -> None:
    async with (
        open_storage(tmp_path) as one,
        open_storage(tmp_path) as other,
        signalling(one, way, carrier=one) as here,
        signalling(other, way, carrier=other) as there,
    ):
        assert isinstance(one, SignalCarrier)
        far = await there.connected(caller("a"), asks=["typing"])
        await until_carried(here, far)
        for nonsense in ("", "{}", "[1, 2]", '["o", [["typing", "T"]]]', "x" * 7000):
            await one.carry(nonsense)
        send(here, Typed("after"))
        found: dict[str, Any] = {"payload": {}}
        while found["payload"].get("by") != "after":
            found = await far.next()
