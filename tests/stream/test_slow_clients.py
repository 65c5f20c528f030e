"""Clients that read slowly or not at all: they are cut, and harm nobody. On both ways to the client."""

from __future__ import annotations

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamchat import events
from teamchat.events import LoggedEvent
from teamchat.interfaces import Storage
from teamchat.stream import sse
from teamchat.stream.backlog import Backlog
from teamchat.stream.delivery import hand_out
from teamchat.stream.sse import Batch, Frame, SharedBytes
from teamchat.stream.stream import LINGER_SECONDS, MOST_WAITING, Stream
from teamchat.stream.transport import WRITE_SECONDS, DirectTransport
from tests.stream.wire import Client, World, big, caller, running, said, until


async def test_d37_a_client_too_slow_is_cut_and_disturbs_nobody(world: World) -> None:
    slow, quick = await world.connected(caller("slow")), await world.connected(caller("quick"))
    for number in range(2 * MOST_WAITING // 100_000):
        await world.write(big(100_000), said(number))
        assert await quick.types(2) == ["UPDATE_SERVER_SETTINGS", "DELETE_MESSAGE"]
    assert slow.stream.end_reason == "too slow"
    assert quick.stream.end_reason is None
    assert len(world.hub) == 1
    await slow.is_dropped()
    await world.at_end()
    assert world.hub.backlog.held == 0


async def test_r11_ten_stalled_clients_do_not_delay_the_others(world: World) -> None:
    stalled = [await world.connected(caller(f"stalled{number}")) for number in range(10)]
    quick = [await world.connected(caller(f"quick{number}")) for number in range(10)]
    for number in range(30):
        await world.write(big(50_000), said(number))
        for client in quick:
            assert (await client.ids(2))[1] == str(number)
    assert {client.stream.end_reason for client in stalled} == {"too slow"}
    assert {client.stream.end_reason for client in quick} == {None}


async def test_k6_what_many_stalled_clients_wait_for_is_in_memory_once(world: World) -> None:
    for number in range(10):
        await world.connected(caller(f"stalled{number}"))
    for _ in range(9):
        await world.write(big(100_000))
        await world.at_end()
    assert len(world.hub) == 10
    assert world.hub.backlog.held < 3_000_000, "and not ten times 900,000"


async def test_d37_one_frame_over_the_limit_still_gets_through(world: World) -> None:
    client = await world.connected()
    await world.write(big(2 * MOST_WAITING))
    assert await client.types(1) == ["UPDATE_SERVER_SETTINGS"]
    await world.at_end()
    assert client.stream.size == 0


async def test_d37_what_is_being_written_counts_as_waiting(world: World) -> None:
    client = await world.connected()
    await world.write(big(MOST_WAITING * 2 // 3))
    await world.at_end()
    assert client.stream.size > MOST_WAITING // 2
    await world.write(big(MOST_WAITING * 2 // 3))
    await world.at_end()
    assert client.stream.end_reason == "too slow"


async def test_d37_a_client_that_reads_is_not_cut_however_much_comes(world: World) -> None:
    client = await world.connected()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.types, 100)
        for _ in range(10):
            await world.write(*[big(50_000) for _ in range(10)])
            _, last = await world.storage.log_bounds()
            await until(lambda last=last: world.hub.position == last and client.stream.size < 500_000)  # type: ignore[misc]
    assert client.stream.end_reason is None


async def test_a_client_that_reads_again_gets_everything_in_order(world: World) -> None:
    client = await world.connected()
    for number in range(200):
        await world.write(said(number), events.UpdateServerSettings("x" * 3000).to())
        await world.at_end()
    assert client.stream.size > 0
    assert [each for each in await client.ids(400) if each] == [str(number) for number in range(200)]
    await world.at_end()
    assert client.stream.size == 0
    assert client.stream._waiting is None, "an idle stream holds no buffer"
    assert world.hub.backlog.held == 0


async def test_past_the_bound_over_all_streams_those_furthest_behind_are_cut(
    storage: Storage, way: str
) -> None:
    async with running(storage, way, backlog=Backlog(1_000_000)) as world:
        furthest, behind = await world.connected(caller("furthest")), await world.connected(caller("behind"))
        for _ in range(7):
            await world.write(events.NewConversation("c", ["x" * 100_000], 0).to(["furthest"]))
        await world.write(events.NewConversation("c", ["x" * 400_000], 0).to(["behind"]))
        await world.at_end()
        assert furthest.stream.end_reason == "too slow"
        assert behind.stream.end_reason is None
        assert await behind.types(1) == ["NEW_CONVERSATION"]


async def passes(clock: trio.testing.MockClock, seconds: float) -> None:
    await trio.testing.wait_all_tasks_blocked()
    clock.jump(seconds)
    await trio.testing.wait_all_tasks_blocked()


async def stall(world: World) -> Client:
    """Return a client that has bytes to read, and reads nothing."""
    client = await world.connected(caller("stalled", "stalled"))
    await world.write(big(500_000))
    await world.at_end()
    assert client.stream.size
    return client


async def test_k4_a_client_that_takes_nothing_for_30_seconds_is_cut(
    world: World, mock_clock: trio.testing.MockClock
) -> None:
    client = await stall(world)
    await passes(mock_clock, WRITE_SECONDS - 0.1)
    assert client.stream.end_reason is None
    await passes(mock_clock, 0.2)
    assert client.server.released.is_set()
    assert client.stream.end_reason == "too slow"
    assert world.hub.backlog.held == 0


@pytest.mark.parametrize("politely", [True, False])
async def test_an_end_waits_two_seconds_for_a_stalled_client_and_no_longer(
    world: World, mock_clock: trio.testing.MockClock, politely: bool
) -> None:
    client = await stall(world)
    if politely:
        world.hub.close_all()
    else:
        await world.write(events.SessionsEnded(["stalled"]).to())
        await world.at_end()
    await passes(mock_clock, LINGER_SECONDS - 0.1)
    assert not client.server.released.is_set()
    await passes(mock_clock, 0.2)
    assert client.server.released.is_set()
    assert not client.server.transport.is_finished
    assert world.hub.backlog.held == 0


async def test_what_was_begun_is_finished_before_a_stream_ends(world: World) -> None:
    client = await world.connected()
    await world.write(big(300_000), said(1))
    await world.at_end()
    world.hub.close_all()
    assert await client.types(2) == ["UPDATE_SERVER_SETTINGS", "DELETE_MESSAGE"]
    await client.end()


async def test_a_client_that_leaves_while_bytes_wait_leaves_nothing_behind(world: World) -> None:
    client = await stall(world)
    client.leave()
    await world.at_end()
    assert len(world.hub) == 0
    assert world.hub.backlog.held == 0


class Wire:
    """A `DirectStream` that takes as many bytes at a time as it is told, the last number for ever."""

    def __init__(self, takes: list[int]) -> None:
        self.sent = bytearray()
        self._takes = takes

    def send_now(self, data: bytes) -> int:
        most = self._takes.pop(0) if len(self._takes) > 1 else self._takes[0]
        self.sent += data[:most]
        return min(most, len(data))

    async def wait_writable(self) -> None:
        await trio.lowlevel.checkpoint()

    def abort(self) -> None:
        raise AssertionError("nobody is cut here")


def body(data: bytes) -> bytes:
    """Decode a chunked body that has no end yet; it must consist of whole chunks."""
    found = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        assert length, "an empty chunk would end the body"
        assert rest[length : length + 2] == b"\r\n"
        found, data = found + rest[:length], rest[length + 2 :]
    return found


class LoneHub:
    """What a stream needs of its hub."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.position = 0
        self.backlog = Backlog()
        self._nursery = nursery

    def start(self, task: object) -> bool:
        self._nursery.start_soon(task)  # type: ignore[arg-type]
        return True

    def forget(self, stream: Stream) -> None:
        pass


BURSTS = st.lists(
    st.tuples(st.lists(st.integers(0, 300), min_size=1, max_size=4), st.integers(0, 8)), max_size=12
)


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(
    bursts=BURSTS,
    takes=st.lists(st.integers(0, 60), max_size=60),
    at_last=st.integers(1, 500),
    with_ids=st.booleans(),
)
def test_wherever_a_send_is_cut_the_client_gets_whole_chunks_and_every_event_once_in_order(
    bursts: list[tuple[list[int], int]], takes: list[int], at_last: int, with_ids: bool
) -> None:
    async def main() -> None:
        wire = Wire([*takes, at_last])
        expected = b""
        number = 0
        async with trio.open_nursery() as nursery:
            hub = LoneHub(nursery)
            stream = Stream(hub, caller(), DirectTransport(wire, lambda: None), with_ids=with_ids)  # type: ignore[arg-type]
            stream.is_live = True
            stream.start()
            for sizes, turns in bursts:
                frames = []
                for size in sizes:
                    number += 1
                    frames.append(Frame(LoggedEvent(number, "SAID", '"' + "x" * size + '"', None)))
                    expected += frames[-1].identified if with_ids else frames[-1].plain
                hand_out([stream], Batch(frames))
                for _ in range(turns):
                    await trio.lowlevel.checkpoint()
        assert body(bytes(wire.sent)) == expected
        assert stream.size == hub.backlog.held == 0
        assert (stream.send_now is not None) == (stream._waiting is None), "ready for the next event"

    trio.run(main)


@pytest.mark.parametrize("taken", [0, 1, 30])
async def test_a_session_that_ends_leaves_no_chunk_half_sent(taken: int) -> None:
    """The end of the body would be taken for content, and the client would wait for the rest for ever."""
    wire = Wire([taken, 500])
    begun, later = (Batch([Frame(LoggedEvent(seq, "SAID", f'"{seq}"', None))]) for seq in (1, 2))
    async with trio.open_nursery() as nursery:
        hub = LoneHub(nursery)
        stream = Stream(hub, caller(), DirectTransport(wire, lambda: None), with_ids=False)  # type: ignore[arg-type]
        stream.is_live = True
        stream.start()
        hand_out([stream], begun)
        hand_out([stream], later)
        stream.end("the session has ended", drop=True)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert body(bytes(wire.sent)) == (sse.frame("SAID", '"1"') if taken else b"")
    assert stream.size == hub.backlog.held == 0


async def test_every_stream_is_handed_the_same_bytes() -> None:
    batch = Batch([Frame(LoggedEvent(1, "SAID", "{}", None))])
    handed: list[bytes] = []

    class Eager:
        send_now = staticmethod(lambda data: handed.append(data) or len(data))
        form = sse.CHUNKED

    hand_out([Eager(), Eager(), Eager()], batch)  # type: ignore[list-item]
    assert handed[0] is handed[1] is handed[2]


def test_bytes_that_several_wait_for_count_once() -> None:
    backlog, piece = Backlog(most=9), SharedBytes(b"x" * 10)
    backlog.hold(piece)
    backlog.hold(piece)
    assert (backlog.held, backlog.is_too_much) == (10, True)
    backlog.release(piece)
    assert backlog.held == 10
    backlog.release(piece)
    assert (backlog.held, backlog.is_too_much) == (0, False)
