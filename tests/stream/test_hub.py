"""The hub on a real storage: audience, order, and how streams end. On both ways to the client."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from teamchat import events
from teamchat.errors import Unavailable
from teamchat.interfaces import Storage
from teamchat.settings import EventsSettings
from tests.storages import sqlite_only
from tests.stream.wire import PATIENCE, Client, World, big, caller, running, said


async def test_d33_connected_comes_first_and_exactly_so(world: World) -> None:
    client = await world.opened()
    payload = (await client.next())["payload"]
    assert client.last.startswith('data: {"type":"CONNECTED","payload":{')
    assert payload["userId"] == "u"
    assert re.match(r"[0-9a-f]{32}\Z", payload["connectionId"])
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z", payload["timestamp"])
    assert isinstance(payload["message"], str)


async def test_two_streams_have_different_connection_ids(world: World) -> None:
    told = [await (await world.opened()).next() for _ in range(2)]
    assert len({event["payload"]["connectionId"] for event in told}) == 2


async def test_d33_nothing_precedes_connected_and_what_happens_before_it_is_not_lost(world: World) -> None:
    client = await world.opened(starts=False)
    await world.write(said(1))
    await world.at_end()
    await client.server.answer(client.stream)
    assert await client.types(2) == ["CONNECTED", "DELETE_MESSAGE"]


async def test_d35_an_event_goes_to_its_audience_alone(world: World) -> None:
    alice, bob, carol = [await world.connected(caller(name)) for name in ("alice", "bob", "carol")]
    await world.write(said("private", "alice", "bob"), said("public"))
    assert await alice.ids(2) == ["private", "public"]
    assert await bob.ids(2) == ["private", "public"]
    assert await carol.ids(1) == ["public"]


async def test_d35_events_that_leave_together_are_in_one_order_for_all(world: World) -> None:
    alice, bob, carol = [await world.connected(caller(name)) for name in ("alice", "bob", "carol")]
    await world.write(
        said(1),
        said(2, "alice"),
        said(3),
        said(4, "bob", "alice"),
        said(5, "nobody"),
        said(6),
        said(7, "bob"),
    )
    assert await alice.ids(5) == ["1", "2", "3", "4", "6"]
    assert await bob.ids(5) == ["1", "3", "4", "6", "7"]
    assert await carol.ids(3) == ["1", "3", "6"]
    assert [alice.chunks, bob.chunks, carol.chunks] == [2, 2, 2], "CONNECTED, and the rest in one write"
    await world.write(said(8))
    assert [await client.ids(1) for client in (alice, bob, carol)] == [["8"]] * 3, "and nothing twice"


async def test_d35_a_user_named_twice_gets_the_event_once(world: World) -> None:
    client = await world.connected()
    await world.write(said(1, "u", "u"), said(2))
    assert await client.ids(2) == ["1", "2"]


async def test_internal_events_reach_no_client(world: World) -> None:
    live = await world.connected()
    resuming = await world.connected(last_event_id="0")
    await world.write(events.SessionsEnded(["other"]).to(), events.UserGone("other").to(), said(1))
    assert await live.ids(1) == ["1"]
    assert await resuming.ids(1) == ["1"]
    again = await world.connected(last_event_id="0")
    assert await again.ids(1) == ["1"]


async def test_waiting_frames_are_joined_into_one_write(world: World) -> None:
    client = await world.connected()
    await world.write(*[said(number) for number in range(10)])
    await client.ids(10)
    assert client.chunks == 2


@pytest.mark.slow
async def test_a_fan_out_to_many_streams_lets_others_run_in_between(world: World) -> None:
    clients = [await world.connected(caller(f"u{number}")) for number in range(600)]
    reached: list[int] = []

    async def look() -> None:
        while not reached or reached[-1] < len(clients):
            reached.append(sum(has_something_to_read(client) for client in clients))
            await trio.lowlevel.checkpoint()

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            await world.write(said(1))
    assert any(0 < count < len(clients) for count in reached), "a request can be answered in between"
    for client in clients:
        assert await client.ids(1) == ["1"]


async def test_a_long_burst_lets_others_run_in_between(world: World) -> None:
    client = await world.connected()
    positions = set()

    async def look() -> None:
        while world.hub.position < 10:
            positions.add(world.hub.position)
            await trio.lowlevel.checkpoint()

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            nursery.start_soon(client.types, 10)
            await world.write(*[big(70_000) for _ in range(10)])
    assert len(positions) > 5


def has_something_to_read(client: Client) -> bool:
    try:
        return bool(client.connection.socket._sock.recv(1, socket.MSG_PEEK))  # type: ignore[attr-defined]
    except BlockingIOError:
        return False


async def test_d37_the_oldest_stream_is_closed_beyond_the_limit(storage: Storage, way: str) -> None:
    async with running(storage, way, EventsSettings(max_streams_per_user=2)) as world:
        first, second, third = [await world.connected() for _ in range(3)]
        await world.connected(caller("other"))
        await first.end()
        assert second.stream.end_reason is None
        assert third.stream.end_reason is None
        assert len(world.hub) == 3


@pytest.mark.parametrize(
    "ending",
    [
        events.SessionsEnded(["ended", "unknown"]).to(),
        events.UserGone("leaver").to(),
        events.StreamsEnded("leaver").to(),
    ],
)
async def test_d09_a_stream_ends_with_its_session_or_user_and_says_no_more(
    world: World, ending: events.Event
) -> None:
    over = await world.connected(caller("leaver", "ended"))
    other = await world.connected(caller("stayer", "lives"))
    await world.write(ending, said("after"))
    assert await other.ids(1) == ["after"]
    await over.end()
    assert over.stream.end_reason == "the session has ended"


async def test_d09_a_session_that_ends_during_a_replay_stops_it(world: World) -> None:
    await world.write(*[events.UpdateServerSettings("x" * 60_000).to() for _ in range(30)])
    client = await world.connected(caller("leaver", "ended"), last_event_id="0")
    await world.write(events.SessionsEnded(["ended"]).to())
    await world.at_end()
    with trio.fail_after(5):
        got = 0
        while await client._chunk():
            got += len(client.frames)
            client.frames.clear()
    assert got < 30


async def test_a_session_that_ends_leaves_the_users_other_sessions_alone(world: World) -> None:
    await world.connected(caller("u", "one"))
    other = await world.connected(caller("u", "two"))
    await world.write(events.SessionsEnded(["one"]).to(), said(1))
    assert await other.ids(1) == ["1"]
    assert len(world.hub) == 1


async def test_a_client_that_leaves_is_forgotten_at_once(world: World) -> None:
    client = await world.connected()
    client.leave()
    assert len(world.hub) == 0
    await world.write(said(1))
    await world.at_end()


async def test_a_client_that_vanished_is_noticed_by_the_next_event(world: World) -> None:
    gone, there = await world.connected(caller("gone")), await world.connected()
    gone.connection.socket.close()
    await world.write(said(1))
    assert await there.ids(1) == ["1"]
    await world.at_end()
    assert gone.stream.end_reason == "the client has left"
    assert len(world.hub) == 1


async def test_closing_all_ends_streams_properly_and_opens_no_more(world: World) -> None:
    client = await world.connected()
    await world.write(said(1))
    await world.at_end()
    world.hub.close_all()
    assert await client.ids(1) == ["1"]
    await client.end()
    assert client.comments == [], "D-33: nothing but events for clients that don't resume"
    with pytest.raises(Unavailable):
        await world.opened()


async def test_d33_on_shutdown_resuming_clients_are_told_to_come_back_at_different_times(
    world: World,
) -> None:
    clients = [await world.connected(caller(f"u{number}"), last_event_id="") for number in range(20)]
    replaying = await world.connected(last_event_id="0")
    await world.write(said(1))
    world.hub.close_all()
    told = []
    for client in [*clients, replaying]:
        retry = re.match(r"retry: ([0-9]+)\Z", await client.comment())
        assert retry
        told.append(int(retry[1]))
        while await client._chunk():
            pass
        assert client._over
    assert all(1000 <= milliseconds <= 10_000 for milliseconds in told)
    assert len(set(told)) > 10


async def test_streams_end_when_the_hub_stops(storage: Storage, way: str) -> None:
    async with running(storage, way) as world:
        client = await world.connected()
        world.hub._nursery.cancel_scope.cancel()  # type: ignore[union-attr]
        await client.end()
        with pytest.raises(Unavailable):
            await world.opened()


@sqlite_only("its clock jumps over the time that another process has to answer")
async def test_d33_idle_streams_get_a_comment_to_stay_alive(
    storage: Storage, way: str, autojump_clock: trio.testing.MockClock
) -> None:
    async with running(storage, way, EventsSettings(keep_alive_seconds=15)) as world:
        clients = [await world.connected(caller(name)) for name in "ab"]
        start = trio.current_time()
        with trio.move_on_after(16):
            await trio.sleep_forever()
        assert trio.current_time() - start == pytest.approx(16)
        for client in clients:
            assert await client.comment() == ": keep-alive"
            assert client.chunks == 2
            assert client.raw == b""


async def test_every_payload_arrives_as_it_was_logged(world: World) -> None:
    client = await world.connected()
    odd = 'line\u2028end\r\n\n\ndata: {"type":"FORGED"}\n\n 🎈'
    await world.write(events.UpdateServerSettings(odd).to())
    assert await client.next() == {"type": "UPDATE_SERVER_SETTINGS", "payload": {"name": odd}}
    assert json.loads(client.last[6:])["payload"]["name"] == odd


class Slow:
    """A storage that tells the log's end once an event more was written and handed out."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def position(self) -> int:
        if self.meanwhile is not None:
            await self.meanwhile()
        return await self._storage.position()


async def test_d34_a_stream_whose_beginning_was_waited_for_resumes_from_there_and_not_from_before(
    storage: Storage, way: str
) -> None:
    slow = Slow(storage)
    async with running(storage, way, seen_by_hub=slow) as world:

        async def meanwhile() -> None:
            await world.write(said(1))
            await world.at_end()

        slow.meanwhile = meanwhile
        client = await world.connected(last_event_id="")
        slow.meanwhile = None
        assert client.last_id == str(world.hub.position)
        client.leave()
        again = await world.connected(last_event_id=client.last_id)
        await world.write(said(2))
        assert await again.ids(1) == ["2"], "what was before the stream began does not come as new"
