"""The hub on a real storage: audience, order, slow clients, resuming, and how streams end."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamchat import events
from teamchat.errors import Unavailable
from teamchat.model import Caller, User
from teamchat.settings import EventsSettings
from teamchat.storage.sqlite import SqliteOptions, SqliteStorage, open_sqlite
from teamchat.stream import Hub, Stream
from teamchat.stream.hub import MOST_WAITING

PATIENCE = 5


def caller(user: str = "u", session: str = "") -> Caller:
    return Caller(User(user, user, f"{user}@example.org", False), session or f"session-of-{user}")


class Client:
    """Reads a stream and keeps what it said."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.frames: list[str] = []
        self._rest = ""

    async def next(self) -> dict[str, Any]:
        """Return the next event."""
        while not self.frames:
            with trio.fail_after(PATIENCE):
                chunk = (await anext(self.stream)).decode()
            self._rest += chunk
            *whole, self._rest = self._rest.split("\n\n")
            self.frames += [frame for frame in whole if not frame.startswith(":")]
        self.last = self.frames.pop(0)
        return json.loads(self.last.partition("data: ")[2])

    async def types(self, count: int) -> list[str]:
        return [(await self.next())["type"] for _ in range(count)]

    async def ids(self, count: int) -> list[str]:
        return [(await self.next())["payload"].get("id") for _ in range(count)]

    @property
    def last_id(self) -> str:
        match = re.match(r"id: ([0-9]+)\ndata: ", self.last)
        assert match, self.last
        return match[1]


@asynccontextmanager
async def running(storage: SqliteStorage, chosen: EventsSettings | None = None) -> AsyncIterator[Hub]:
    hub = Hub(storage, chosen or EventsSettings())
    async with trio.open_nursery() as nursery:
        await nursery.start(hub.run)
        yield hub
        nursery.cancel_scope.cancel()


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqliteStorage]:
    async with open_sqlite(SqliteOptions(str(tmp_path))) as opened:
        yield opened


@pytest.fixture
async def hub(storage: SqliteStorage) -> AsyncIterator[Hub]:
    async with running(storage) as started:
        yield started


async def connected(hub: Hub, who: Caller | None = None, last_event_id: str | None = None) -> Client:
    client = Client(await hub.open(who or caller(), last_event_id))
    assert (await client.next())["type"] == "CONNECTED"
    return client


async def write(storage: SqliteStorage, *written: events.Event) -> None:
    async with storage.write() as tx:
        for event in written:
            await tx.append(event)


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE):
        while not condition():
            await trio.lowlevel.checkpoint()


async def at_end(storage: SqliteStorage, hub: Hub) -> None:
    """Wait until the hub has handed out the whole log."""
    _, last = await storage.log_bounds()
    await until(lambda: hub.position == last)


def said(number: object, *audience: str) -> events.Event:
    return events.DeleteMessage(str(number), "c").to(audience or None)


async def test_d33_connected_comes_first_and_exactly_so(hub: Hub) -> None:
    stream = await hub.open(caller(), None)
    first = await anext(stream)
    assert first.startswith(b'data: {"type":"CONNECTED","payload":{')
    assert first.endswith(b"}}\n\n")
    payload = json.loads(first[6:])["payload"]
    assert payload["userId"] == "u"
    assert payload["connectionId"] == stream.connection_id
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z", payload["timestamp"])
    assert isinstance(payload["message"], str)


async def test_what_happens_between_opening_and_connected_is_not_lost(
    storage: SqliteStorage, hub: Hub
) -> None:
    client = Client(await hub.open(caller(), None))
    await write(storage, said(1))
    await at_end(storage, hub)
    assert await client.types(2) == ["CONNECTED", "DELETE_MESSAGE"]


async def test_d35_an_event_goes_to_its_audience_alone(storage: SqliteStorage, hub: Hub) -> None:
    alice, bob, carol = [await connected(hub, caller(name)) for name in ("alice", "bob", "carol")]
    await write(storage, said("private", "alice", "bob"), said("public"))
    assert await alice.ids(2) == ["private", "public"]
    assert await bob.ids(2) == ["private", "public"]
    assert await carol.ids(1) == ["public"]


async def test_d35_a_user_named_twice_gets_the_event_once(storage: SqliteStorage, hub: Hub) -> None:
    client = await connected(hub)
    await write(storage, said(1, "u", "u"), said(2))
    assert await client.ids(2) == ["1", "2"]


async def test_every_stream_is_handed_the_same_bytes(storage: SqliteStorage, hub: Hub) -> None:
    streams = [(await connected(hub, caller(f"u{number}"))).stream for number in range(3)]
    await write(storage, said(1))
    await at_end(storage, hub)
    waiting = [stream._waiting[0] for stream in streams]
    assert waiting[0] is waiting[1] is waiting[2]


async def test_waiting_frames_are_joined_into_one_write(storage: SqliteStorage, hub: Hub) -> None:
    client = await connected(hub)
    await write(storage, *[said(number) for number in range(10)])
    await at_end(storage, hub)
    assert (await anext(client.stream)).count(b"data: ") == 10


async def test_internal_events_reach_no_client(storage: SqliteStorage, hub: Hub) -> None:
    live = await connected(hub)
    resuming = await connected(hub, last_event_id="0")
    await write(storage, events.SessionsEnded(["other"]).to(), events.UserGone("other").to(), said(1))
    assert await live.ids(1) == ["1"]
    assert await resuming.ids(1) == ["1"]
    again = await connected(hub, last_event_id="0")
    assert await again.ids(1) == ["1"]


async def test_d37_a_client_too_slow_is_cut_and_disturbs_nobody(storage: SqliteStorage, hub: Hub) -> None:
    slow, quick = await connected(hub, caller("slow")), await connected(hub, caller("quick"))
    cut = trio.Event()
    slow.stream.on_cut = cut.set
    big = events.UpdateServerSettings("x" * 100_000).to()
    for number in range(2 * MOST_WAITING // 100_000):
        await write(storage, big, said(number))
        assert await quick.types(2) == ["UPDATE_SERVER_SETTINGS", "DELETE_MESSAGE"]
    assert cut.is_set()
    assert slow.stream.end_reason == "too slow"
    assert quick.stream.end_reason is None
    assert len(hub) == 1
    with pytest.raises(StopAsyncIteration):
        await anext(slow.stream)


async def test_d37_what_is_being_written_counts_as_waiting(storage: SqliteStorage, hub: Hub) -> None:
    client = await connected(hub)
    half = events.UpdateServerSettings("x" * (MOST_WAITING * 2 // 3)).to()
    await write(storage, half)
    assert len(await anext(client.stream)) > MOST_WAITING // 2  # and it is not yet written
    await write(storage, half)
    await at_end(storage, hub)
    assert client.stream.end_reason == "too slow"


async def test_one_frame_over_the_limit_still_gets_through(storage: SqliteStorage, hub: Hub) -> None:
    client = await connected(hub)
    await write(storage, events.UpdateServerSettings("x" * 2 * MOST_WAITING).to())
    assert await client.types(1) == ["UPDATE_SERVER_SETTINGS"]


async def test_d37_a_burst_does_not_cut_a_client_that_reads(storage: SqliteStorage, hub: Hub) -> None:
    client = await connected(hub)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.types, 100)
        await write(storage, *[events.UpdateServerSettings("x" * 50_000).to() for _ in range(100)])
    assert client.stream.end_reason is None


async def test_d37_the_oldest_stream_is_closed_beyond_the_limit(storage: SqliteStorage) -> None:
    async with running(storage, EventsSettings(max_streams_per_user=2)) as hub:
        first, second, third = [await connected(hub, caller()) for _ in range(3)]
        await connected(hub, caller("other"))
        assert first.stream.end_reason is not None
        assert second.stream.end_reason is None
        assert third.stream.end_reason is None
        with pytest.raises(StopAsyncIteration):
            await anext(first.stream)


@pytest.mark.parametrize(
    "ending", [events.SessionsEnded(["ended", "unknown"]).to(), events.UserGone("leaver").to()]
)
async def test_d09_a_stream_ends_with_its_session_or_user_and_says_no_more(
    storage: SqliteStorage, hub: Hub, ending: events.Event
) -> None:
    over = await connected(hub, caller("leaver", "ended"))
    other = await connected(hub, caller("stayer", "lives"))
    await write(storage, said("before"), ending, said("after"))
    assert await other.ids(2) == ["before", "after"]
    assert over.stream.end_reason == "the session has ended"
    with pytest.raises(StopAsyncIteration):
        await anext(over.stream)


async def test_a_session_that_ends_leaves_the_users_other_sessions_alone(
    storage: SqliteStorage, hub: Hub
) -> None:
    await connected(hub, caller("u", "one"))
    other = await connected(hub, caller("u", "two"))
    await write(storage, events.SessionsEnded(["one"]).to(), said(1))
    assert await other.ids(1) == ["1"]
    assert len(hub) == 1


async def test_closing_all_lets_what_is_waiting_out_and_opens_no_more(
    storage: SqliteStorage, hub: Hub
) -> None:
    client = await connected(hub)
    await write(storage, said(1))
    await at_end(storage, hub)
    hub.close_all()
    assert await client.ids(1) == ["1"]
    with pytest.raises(StopAsyncIteration):
        await anext(client.stream)
    with pytest.raises(Unavailable):
        await hub.open(caller(), None)


async def test_streams_end_when_the_hub_stops(storage: SqliteStorage) -> None:
    async with running(storage) as hub:
        client = await connected(hub)
    with pytest.raises(StopAsyncIteration):
        await anext(client.stream)
    with pytest.raises(Unavailable):
        await hub.open(caller(), None)


async def test_d33_idle_streams_get_a_comment_to_stay_alive(
    storage: SqliteStorage, autojump_clock: trio.testing.MockClock
) -> None:
    async with running(storage, EventsSettings(keep_alive_seconds=15)) as hub:
        streams = [(await connected(hub, caller(name))).stream for name in "ab"]
        start = trio.current_time()
        assert [await anext(stream) for stream in streams] == [b": keep-alive\n\n"] * 2
        assert trio.current_time() - start == pytest.approx(15)
        await trio.sleep(100)
        assert await anext(streams[0]) == b": keep-alive\n\n", "comments don't pile up"


async def test_d34_a_client_that_did_not_opt_in_gets_no_ids(storage: SqliteStorage, hub: Hub) -> None:
    client = await connected(hub)
    assert client.last.startswith("data: ")
    await write(storage, said(1))
    await client.next()
    assert client.last.startswith("data: ")


async def test_d34_an_empty_id_opts_in_from_now(storage: SqliteStorage, hub: Hub) -> None:
    await write(storage, said("past"))
    await at_end(storage, hub)
    client = await connected(hub, last_event_id="")
    assert client.last_id == str(hub.position)
    await write(storage, said("now"))
    assert await client.ids(1) == ["now"]
    assert client.last_id == str(hub.position)


async def test_d34_what_was_missed_comes_first_then_what_is_live(storage: SqliteStorage, hub: Hub) -> None:
    before = await connected(hub, last_event_id="")
    await write(storage, said(0))
    await before.next()
    await write(storage, *[said(number) for number in range(1, 100)], said("private", "someone"))
    after = await connected(hub, last_event_id=before.last_id)
    assert after.last_id == before.last_id, "CONNECTED must not skip what is still to be replayed"
    await write(storage, said(100))
    assert await after.ids(100) == [str(number) for number in range(1, 101)]
    await write(storage, said(101))
    assert await after.ids(1) == ["101"]


async def test_d34_a_replay_does_not_hold_what_its_client_has_not_read(
    storage: SqliteStorage, hub: Hub
) -> None:
    await write(storage, *[events.UpdateServerSettings("x" * 60_000).to() for _ in range(50)])
    client = await connected(hub, last_event_id="0")
    await write(storage, *[events.UpdateServerSettings("x" * 60_000).to() for _ in range(50)])
    await at_end(storage, hub)
    assert client.stream.end_reason is None, "live events pass a stream by that is being replayed"
    assert len(await anext(client.stream)) <= MOST_WAITING
    assert client.stream._size == 0


async def test_d34_resuming_survives_a_restart(tmp_path: Path) -> None:
    async with open_sqlite(SqliteOptions(str(tmp_path))) as storage, running(storage) as hub:
        client = await connected(hub, last_event_id="")
        await write(storage, said(1))
        await client.next()
        await write(storage, said(2))
    async with open_sqlite(SqliteOptions(str(tmp_path))) as storage:
        await write(storage, said(3))
        async with running(storage) as hub:
            again = await connected(hub, last_event_id=client.last_id)
            await write(storage, said(4))
            assert await again.ids(3) == ["2", "3", "4"]


@pytest.mark.parametrize("last_event_id", ["999", "nonsense", "-1", "1\nid: 2"])
async def test_d34_an_id_the_log_never_gave_asks_to_reload(
    storage: SqliteStorage, hub: Hub, last_event_id: str
) -> None:
    await write(storage, said("old"))
    await at_end(storage, hub)
    client = await connected(hub, last_event_id=last_event_id)
    assert client.last_id == "0"
    assert await client.next() == {"type": "RESYNC", "payload": {}}
    assert client.last_id == str(hub.position)
    await write(storage, said("new"))
    assert await client.ids(1) == ["new"]


async def forget_up_to(storage: SqliteStorage, seq: int) -> None:
    async with storage.write() as tx:
        await tx.fetch("delete from events where seq <= $1", seq)


async def test_d34_an_id_before_the_logs_beginning_asks_to_reload(storage: SqliteStorage, hub: Hub) -> None:
    await write(storage, *[said(number) for number in range(1, 6)])
    await forget_up_to(storage, 3)
    await at_end(storage, hub)
    assert await (await connected(hub, last_event_id="2")).types(1) == ["RESYNC"]
    assert await (await connected(hub, last_event_id="3")).ids(2) == ["4", "5"]
    await forget_up_to(storage, 5)
    assert await (await connected(hub, last_event_id="4")).types(1) == ["RESYNC"]
    at_the_end = await connected(hub, last_event_id="5")
    await write(storage, said(6))
    assert await at_the_end.ids(1) == ["6"]


async def test_d34_a_client_that_leaves_before_resync_is_told_the_next_time(
    storage: SqliteStorage, hub: Hub
) -> None:
    await write(storage, said(1), said(2))
    await forget_up_to(storage, 1)
    await at_end(storage, hub)
    client = await connected(hub, last_event_id="999")
    again = await connected(hub, last_event_id=client.last_id)
    assert await again.types(1) == ["RESYNC"]


async def test_d34_a_log_that_is_swept_during_a_slow_replay_asks_to_reload(
    storage: SqliteStorage, hub: Hub
) -> None:
    await write(storage, *[said(number) for number in range(1, 101)])
    await at_end(storage, hub)
    client = await connected(hub, last_event_id="0")
    assert await client.ids(16) == [str(number) for number in range(1, 17)]
    await forget_up_to(storage, 50)
    assert await client.types(1) == ["RESYNC"]


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


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_d34_however_writes_and_reconnects_interleave_each_event_comes_once_in_order(
    steps: list[Step],
) -> None:
    async def main() -> None:
        with TemporaryDirectory() as directory:
            async with open_sqlite(SqliteOptions(directory)) as storage, running(storage) as hub:
                await _interleave(storage, hub, steps)

    trio.run(main)


async def _interleave(storage: SqliteStorage, hub: Hub, steps: list[Step]) -> None:
    written, seen = 0, []
    client = await connected(hub, last_event_id="")
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
            await write(storage, *[said(number) for number in range(written, written + count)])
            await write(storage, said("not for you", "other"))
            written += count
        elif what == "read":
            await read(min(count, written - len(seen)))
        elif what == "reconnect":
            client.stream.end("test")
            client = await connected(hub, last_event_id=last_id)
        else:
            for _ in range(count):
                await trio.lowlevel.checkpoint()
    await read(written - len(seen))
    await write(storage, said(written))
    await read(1)
    assert seen == list(range(written + 1))
