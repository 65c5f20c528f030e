"""Resuming: what was missed comes first, then what is live, each event once and in order (D-34)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamchat.errors import StorageError
from teamchat.interfaces import Storage
from teamchat.settings import EventsSettings
from teamchat.stream.recent import Recent
from teamchat.stream.stream import MOST_WAITING
from tests.storages import open_storage, sqlite_only
from tests.stream.wire import WAYS, World, big, caller, running, said


class Watched:
    """A storage that counts how often the log is read, and fails when told to."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.reads = 0
        self.at_once = 0
        self.most_at_once = 0
        self.fails = False
        self.gate = trio.Event()  # for reads and for following, as long as `is_slow`
        self.is_slow = False

    async def position(self) -> int:
        return await self._storage.position()

    async def _pass(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_slow:
            await self.gate.wait()

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[Any]:
        self.reads += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self._pass()
            if self.fails:
                raise StorageError("The database has gone.")
            async with self._storage.read() as tx:
                yield tx
        finally:
            self.at_once -= 1

    def read(self) -> AbstractAsyncContextManager[Any]:
        return self._read()

    async def follow(self, after: int) -> AsyncIterator[Any]:
        async with aclosing(self._storage.follow(after)) as log:
            async for found in log:
                await self._pass()
                yield found

    async def log_bounds(self) -> tuple[int, int]:
        self.reads += 1
        return await self._storage.log_bounds()


@asynccontextmanager
async def remembering(storage: Storage, way: str, most_events: int) -> AsyncIterator[World]:
    """Run a hub whose memory of the log is short."""
    async with running(storage, way, recent=Recent(most_events)) as world:
        yield world


async def test_d34_a_client_that_did_not_opt_in_gets_no_ids(world: World) -> None:
    client = await world.connected()
    assert client.last.startswith("data: ")
    await world.write(said(1))
    await client.next()
    assert client.last.startswith("data: ")


async def test_d34_an_empty_id_opts_in_from_now(world: World) -> None:
    await world.write(said("past"))
    await world.at_end()
    client = await world.connected(last_event_id="")
    assert client.last_id == str(world.hub.position)
    await world.write(said("now"))
    assert await client.ids(1) == ["now"]
    assert client.last_id == str(world.hub.position)


@pytest.mark.parametrize("most_events", [0, 30, 10_000])
async def test_d34_what_was_missed_comes_first_then_what_is_live(
    storage: Storage, way: str, most_events: int
) -> None:
    async with remembering(storage, way, most_events) as world:
        before = await world.connected(last_event_id="")
        await world.write(said(0))
        await before.next()
        await world.write(*[said(number) for number in range(1, 100)], said("private", "someone"))
        after = await world.connected(last_event_id=before.last_id)
        assert after.last_id == before.last_id, "CONNECTED must not skip what is still to be replayed"
        await world.write(said(100))
        assert await after.ids(100) == [str(number) for number in range(1, 101)]
        await world.write(said(101))
        assert await after.ids(1) == ["101"]


@pytest.mark.parametrize("most_events", [0, 10_000])
async def test_d35_a_replay_respects_the_audience(storage: Storage, way: str, most_events: int) -> None:
    async with remembering(storage, way, most_events) as world:
        await world.write(said(1, "alice"), said(2), said(3, "bob", "carol"), said(4, "carol", "alice"))
        alice, bob = [await world.connected(caller(name), "0") for name in ("alice", "bob")]
        await world.write(said(5))
        assert await alice.ids(4) == ["1", "2", "4", "5"]
        assert await bob.ids(3) == ["2", "3", "5"]


@pytest.mark.slow
@pytest.mark.parametrize("most_events", [0, 10_000])
async def test_d34_a_replay_goes_at_the_pace_of_its_client(
    storage: Storage, way: str, most_events: int
) -> None:
    async with remembering(storage, way, most_events) as world:
        await world.write(*[big(60_000) for _ in range(50)])
        await world.at_end()
        client = await world.connected(last_event_id="0")
        await world.write(*[big(60_000) for _ in range(50)])
        await world.at_end()
        assert client.stream.end_reason is None, "live events pass a stream by that is being replayed"
        assert world.hub.backlog.held < MOST_WAITING // 4
        assert set(await client.types(100)) == {"UPDATE_SERVER_SETTINGS"}


@pytest.mark.slow
async def test_d34_a_thousand_clients_that_come_back_cost_the_database_nothing(
    storage: Storage, way: str
) -> None:
    watched = Watched(storage)
    chosen = EventsSettings(max_streams_per_user=1000)
    async with running(storage, way, chosen, seen_by_hub=watched) as world:
        await world.write(*[said(number) for number in range(50)])
        await world.at_end()
        watched.reads = 0
        clients = [await world.connected(last_event_id=str(number % 40)) for number in range(1000)]
        for number, client in enumerate(clients):
            assert await client.ids(50 - number % 40) == [str(each) for each in range(number % 40, 50)]
        assert watched.reads == 0


@pytest.mark.slow
async def test_d34_clients_that_want_the_same_old_events_share_few_reads(storage: Storage, way: str) -> None:
    watched = Watched(storage)
    parts = {"seen_by_hub": watched, "recent": Recent(0)}
    async with running(storage, way, EventsSettings(max_streams_per_user=1000), **parts) as world:
        await world.write(*[said(number) for number in range(640)])
        await world.at_end()
        watched.reads = 0
        clients = [await world.opened(last_event_id=str(number)) for number in range(100)]
        for number, client in enumerate(clients):
            await client.next()
            assert await client.ids(640 - number) == [str(each) for each in range(number, 640)]
        assert watched.reads <= 640 // 64 + 1
        assert watched.most_at_once <= 4


async def test_d34_resuming_survives_a_restart_and_the_end_of_the_log_is_in_memory_again(
    tmp_path: Path, way: str
) -> None:
    async with open_storage(tmp_path) as storage, running(storage, way) as world:
        client = await world.connected(last_event_id="")
        await world.write(said(1))
        await client.next()
        await world.write(said(2))
    async with open_storage(tmp_path) as storage:
        watched = Watched(storage)
        async with storage.write() as tx:
            await tx.append(said(3))
        async with running(storage, way, seen_by_hub=watched) as world:
            watched.reads = 0
            again = await world.connected(last_event_id=client.last_id)
            await world.write(said(4))
            assert await again.ids(3) == ["2", "3", "4"]
            assert watched.reads == 0


async def test_a_log_longer_than_the_memory_is_remembered_from_its_end(storage: Storage, way: str) -> None:
    async with storage.write() as tx:
        for number in range(1, 3001):
            await tx.append(said(number))
    async with remembering(storage, way, 1500) as world:
        assert (world.hub.position, world.hub.recent.last) == (3000, 3000)
        assert world.hub.recent.floor == 1500
        client = await world.connected(last_event_id="2998")
        assert await client.ids(2) == ["2999", "3000"]


@pytest.mark.parametrize("last_event_id", ["999", "nonsense", "-1", "1\nid: 2", "9" * 30])
async def test_d34_an_id_the_log_never_gave_asks_to_reload(world: World, last_event_id: str) -> None:
    await world.write(said("old"))
    await world.at_end()
    client = await world.connected(last_event_id=last_event_id)
    assert client.last_id == "0"
    assert await client.next() == {"type": "RESYNC", "payload": {}}
    assert client.last_id == str(world.hub.position)
    await world.write(said("new"))
    assert await client.ids(1) == ["new"]


async def test_d34_an_id_before_the_logs_beginning_asks_to_reload(storage: Storage, way: str) -> None:
    async with remembering(storage, way, 0) as world:
        await world.write(*[said(number) for number in range(1, 6)])
        await world.forget_up_to(3)
        await world.write(said(6))
        await world.at_end()
        assert await (await world.connected(last_event_id="2")).types(1) == ["RESYNC"]
        assert await (await world.connected(last_event_id="3")).ids(3) == ["4", "5", "6"]
        await world.forget_up_to(6)
        at_the_end = await world.connected(last_event_id="6")
        await world.write(said(7))
        assert await at_the_end.ids(1) == ["7"]


@sqlite_only("its clock jumps over the time that another process has to answer")
async def test_d34_memory_reaches_no_further_back_than_the_log(
    storage: Storage, way: str, mock_clock: trio.testing.MockClock
) -> None:
    async with running(storage, way, EventsSettings(keep_alive_seconds=15)) as world:
        await world.write(*[said(number) for number in range(1, 6)])
        await world.at_end()
        assert await (await world.connected(last_event_id="2")).ids(3) == ["3", "4", "5"]
        await world.forget_up_to(3)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(15.1)
        await trio.testing.wait_all_tasks_blocked()
        assert await (await world.connected(last_event_id="2")).types(1) == ["RESYNC"]
        assert await (await world.connected(last_event_id="3")).ids(2) == ["4", "5"]


async def test_d34_a_client_that_leaves_before_resync_is_told_the_next_time(world: World) -> None:
    await world.write(said(1), said(2))
    await world.at_end()
    client = await world.connected(last_event_id="999")
    assert client.last_id == "0"


async def test_d34_a_log_that_is_swept_during_a_slow_replay_asks_to_reload(
    storage: Storage, way: str
) -> None:
    async with remembering(storage, way, 0) as world:
        await world.write(*[big(60_000) for _ in range(100)])
        await world.at_end()
        client = await world.connected(last_event_id="0")
        await client.next()
        await world.forget_up_to(90)
        types = [(await client.next())["type"] for _ in range(2)]
        while types[-1] != "RESYNC":
            types.append((await client.next())["type"])
        assert len(types) < 90
        assert client.last_id == "100"


async def test_d34_a_client_that_saw_more_than_this_hub_yet_waits_for_it(storage: Storage, way: str) -> None:
    """Another server on the same log may be ahead."""
    watched = Watched(storage)
    async with running(storage, way, seen_by_hub=watched) as world:
        await world.write(said(1))
        await world.at_end()
        watched.is_slow = True
        await world.write(said(2))
        client = await world.connected(last_event_id="2")
        assert world.hub.position == 1
        watched.gate.set()
        await world.write(said(3))
        assert await client.ids(1) == ["3"]


async def test_a_stream_that_ends_while_it_waits_for_this_hub_ends_properly(
    storage: Storage, way: str
) -> None:
    watched = Watched(storage)
    async with running(storage, way, seen_by_hub=watched) as world:
        watched.is_slow = True
        await world.write(said(1))
        client = await world.connected(last_event_id="1")
        client.stream.end("the session has ended", drop=True)
        watched.gate.set()
        await client.end()


async def test_d09_what_is_read_while_the_session_ends_is_not_told(storage: Storage, way: str) -> None:
    watched = Watched(storage)
    async with running(storage, way, seen_by_hub=watched, recent=Recent(0)) as world:
        await world.write(said(1))
        await world.at_end()
        watched.is_slow = True
        client = await world.connected(last_event_id="0")
        await trio.testing.wait_all_tasks_blocked()
        client.stream.end("the session has ended", drop=True)
        watched.gate.set()
        await client.end()


async def test_a_database_that_fails_during_a_replay_costs_that_stream_alone(
    storage: Storage, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(storage)
    async with running(storage, way, seen_by_hub=watched, recent=Recent(0)) as world:
        other = await world.connected()
        await world.write(said(1))
        assert await other.ids(1) == ["1"]
        watched.fails = True
        client = await world.opened(caller("unlucky"), last_event_id="0")
        await client.server.released.wait()
        assert client.stream.end_reason == "failed"
        await world.write(said(2))
        assert await other.ids(1) == ["2"]


Step = tuple[str, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 40)),
        st.tuples(st.just("read"), st.integers(1, 25)),
        st.tuples(st.just("reconnect"), st.just(0)),
        st.tuples(st.just("let others run"), st.integers(1, 30)),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(STEPS, st.sampled_from(WAYS), st.sampled_from([0, 7, 10_000]))
def test_d34_however_writes_and_reconnects_interleave_each_event_comes_once_in_order(
    steps: list[Step], way: str, most_events: int
) -> None:
    async def main() -> None:
        with TemporaryDirectory() as directory:
            async with (
                open_storage(directory) as storage,
                remembering(storage, way, most_events) as world,
            ):
                await _interleave(world, steps)

    trio.run(main)


async def _interleave(world: World, steps: list[Step]) -> None:
    written, seen = 0, []
    client = await world.connected(last_event_id="")
    last_id = client.last_id

    async def read(count: int) -> None:
        nonlocal last_id
        for _ in range(count):
            event = await client.next()
            last_id = client.last_id
            assert event["type"] == "DELETE_MESSAGE"
            seen.append(int(event["payload"]["id"]))

    for what, count in steps:
        if what == "write":
            await world.write(*[said(number) for number in range(written, written + count)])
            await world.write(said("not for you", "other"))
            written += count
        elif what == "read":
            await read(min(count, written - len(seen)))
        elif what == "reconnect":
            client.leave()
            client = await world.connected(last_event_id=last_id)
        else:
            for _ in range(count):
                await trio.lowlevel.checkpoint()
    await read(written - len(seen))
    await world.write(said(written))
    await read(1)
    assert seen == list(range(written + 1))
