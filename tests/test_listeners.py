"""Plugins' listeners hear what happened: in order, each once an installation, and again after a crash."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from teamchat import LoggedEvent, Storage
from teamchat.events import Encoded, SessionsEnded
from teamchat.model import now_ms
from teamchat.server import listeners as module
from teamchat.server.listeners import Listeners
from teamchat.storage import lease
from teamchat.testing.storage import append
from tests.storages import open_storage

DEADLINE = 60


class Ear:
    """A listener that remembers what it heard."""

    def __init__(self, name: str = "ear") -> None:
        self.name = name
        self.heard: list[str] = []
        self._moved = trio.Event()

    async def hear(self, event: LoggedEvent) -> None:
        self.heard.append(event.payload)
        self._moved.set()

    async def until(self, *payloads: str) -> None:
        with trio.fail_after(DEADLINE):
            while self.heard[-len(payloads) :] != list(payloads):
                self._moved = trio.Event()
                await self._moved.wait()


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with open_storage(tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "HOLD_SECONDS", 0.3)
    monkeypatch.setattr(lease, "SAVE_SECONDS", 0.02)
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 0.05)
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.02)
    monkeypatch.setattr(lease, "AGAIN_SECONDS", 0.02)


@asynccontextmanager
async def telling(storage: Storage, *listeners: Ear) -> AsyncIterator[trio.CancelScope]:
    """Run the service; a new listener is known to the database before the body begins."""
    scope = trio.CancelScope()

    async def run(*, task_status: trio.TaskStatus[None]) -> None:
        with scope:
            await Listeners(storage, listeners, lambda one: f"plugin of {one.name}").run(
                task_status=task_status
            )

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        await kept(storage, len(listeners))
        yield scope
        scope.cancel()


async def kept(storage: Storage, number: int) -> None:
    with trio.fail_after(DEADLINE):
        while True:
            async with storage.read() as tx:
                if len(await tx.fetch("select 1 from listeners")) >= number:
                    return
            await trio.sleep(0.005)


async def position(storage: Storage) -> int:
    async with storage.read() as tx:
        return int((await tx.fetch("select position from listeners"))[0][0])


async def test_a_listener_hears_what_happens_in_order(storage: Storage) -> None:
    await append(storage, "before its time")
    ear = Ear()
    async with telling(storage, ear):
        for number in range(20):
            await append(storage, str(number))
        await ear.until("19")
    assert ear.heard == [str(number) for number in range(20)]


async def test_what_is_for_the_server_alone_is_not_told(storage: Storage) -> None:
    ear = Ear()
    async with telling(storage, ear):
        async with storage.write() as tx:
            await tx.append(SessionsEnded([]).to())
            await tx.append(Encoded("NEW_USER", "told"))
        await ear.until("told")
    assert ear.heard == ["told"]


async def test_a_listener_goes_on_after_a_restart_where_it_was(storage: Storage) -> None:
    ear = Ear()
    async with telling(storage, ear):
        await append(storage, "first")
        await ear.until("first")
    await append(storage, "while nobody listened")
    async with telling(storage, ear):
        await ear.until("while nobody listened")
    assert ear.heard == ["first", "while nobody listened"]


async def test_of_two_processes_one_tells(storage: Storage) -> None:
    one, other = Ear(), Ear()
    async with telling(storage, one), telling(storage, other):
        for number in range(20):
            await append(storage, str(number))
        await one.until("19")
    assert other.heard == []


async def test_when_a_process_ends_the_other_takes_over(storage: Storage) -> None:
    one, other = Ear(), Ear()
    async with telling(storage, one) as first, telling(storage, other):
        await append(storage, "a")
        await one.until("a")
        first.cancel()
        await append(storage, "b")
        await other.until("b")
    assert (one.heard, other.heard) == (["a"], ["b"])


async def test_a_listener_whose_process_died_is_taken_over_when_its_time_is_up(storage: Storage) -> None:
    dead = lease.Lease(storage, "ear")
    await dead.take()
    await append(storage, "heard, but not written down")
    ear = Ear()
    async with telling(storage, ear):
        await ear.until("heard, but not written down")
    with pytest.raises(lease.LeaseLost):  # Had it only slept, it would notice that it is late.
        await dead._save(0)


async def test_a_hold_from_before_the_clock_was_set_back_holds_nobody_off(storage: Storage) -> None:
    dead = lease.Lease(storage, "ear", clock=lambda: now_ms() + 3_600_000)
    await dead.take()
    await append(storage, "while the clock was ahead")
    ear = Ear()
    async with telling(storage, ear):
        await ear.until("while the clock was ahead")


async def test_a_slow_listener_holds_up_no_other(storage: Storage) -> None:
    class Slow(Ear):
        async def hear(self, event: LoggedEvent) -> None:
            await trio.sleep_forever()

    ear = Ear("quick")
    async with telling(storage, Slow("slow"), ear):
        await append(storage, "a")
        await append(storage, "b")
        await ear.until("a", "b")


async def test_a_listener_that_fails_is_named_and_hears_the_next_event(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Ear):
        async def hear(self, event: LoggedEvent) -> None:
            await super().hear(event)
            raise ValueError("a secret")

    ear = Failing("clumsy")
    async with telling(storage, ear):
        await append(storage, "a")
        await append(storage, "b")
        await ear.until("a", "b")
    fields = [record.__dict__["teamchat_fields"] for record in caplog.records]
    assert [one["listener"] for one in fields] == ["clumsy", "clumsy"]
    assert [one["plugin"] for one in fields] == ["plugin of clumsy"] * 2


async def test_a_holder_that_was_away_for_too_long_begins_anew(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ear = Ear()
    async with telling(storage, ear):
        await append(storage, "a")
        await ear.until("a")
        async with storage.write() as tx:  # Another process has taken it, and died.
            await tx.fetch("update listeners set holder = 'another', held_until = 0")
        with trio.fail_after(DEADLINE):
            while not await held_by_us(storage):  # noqa: ASYNC110
                await trio.sleep(0.005)
        await append(storage, "b")
        await ear.until("b")


async def held_by_us(storage: Storage) -> bool:
    async with storage.read() as tx:
        return bool((await tx.fetch("select holder from listeners"))[0][0] != "another")


async def test_where_a_listener_is_gets_written_down_soon(storage: Storage) -> None:
    ear = Ear()
    async with telling(storage, ear):
        await append(storage, "a")
        with trio.fail_after(DEADLINE):
            while await position(storage) == 0:  # noqa: ASYNC110
                await trio.sleep(0.005)


class Attentive(Ear):
    """An ear that is told what it missed."""

    async def missed(self, first: int, last: int) -> None:
        self.heard.append(f"missed {first} to {last}")
        self._moved.set()


async def forget(storage: Storage, *, up_to: str) -> None:
    """Take events off the log, as the sweeper does with old ones."""
    async with storage.write() as tx:
        await tx.fetch(
            "delete from events where seq <= (select max(seq) from events where payload = $1)", up_to
        )


async def seq(storage: Storage, payload: str) -> int:
    async with storage.read() as tx:
        return int((await tx.fetch("select seq from events where payload = $1", payload))[0][0])


async def test_a_listener_is_told_which_events_left_the_log_while_nobody_told_it(storage: Storage) -> None:
    ear = Attentive()
    async with telling(storage, ear):
        await append(storage, "first")
        await ear.until("first")
    heard = await seq(storage, "first")
    await append(storage, "lost")
    await append(storage, "lost too")
    lost = await seq(storage, "lost too")
    await append(storage, "kept")
    await forget(storage, up_to="lost too")
    async with telling(storage, ear):
        await ear.until("kept")
    assert ear.heard == ["first", f"missed {heard + 1} to {lost}", "kept"]


async def test_it_is_told_at_once_also_when_nothing_is_left(storage: Storage) -> None:
    ear = Attentive()
    async with telling(storage, ear):
        await append(storage, "first")
        await ear.until("first")
    await append(storage, "lost")
    lost = await seq(storage, "lost")
    await forget(storage, up_to="lost")
    async with telling(storage, ear):
        await ear.until(f"missed {lost} to {lost}")
    async with telling(storage, ear):  # It is written down that it was told.
        await append(storage, "next")
        await ear.until("next")
    assert ear.heard == ["first", f"missed {lost} to {lost}", "next"]


async def test_a_listener_that_was_slower_than_the_log_is_long_is_told(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLOW_SECONDS", 0.0)
    go_on = trio.Event()

    class Slow(Attentive):
        async def hear(self, event: LoggedEvent) -> None:
            await super().hear(event)
            await go_on.wait()

    ear = Slow()
    async with telling(storage, ear):
        await append(storage, "slow")
        await ear.until("slow")
        await append(storage, "lost")
        lost = await seq(storage, "lost")
        await forget(storage, up_to="lost")
        go_on.set()
        await ear.until(f"missed {lost} to {lost}")
        await append(storage, "next")
        await ear.until("next")


async def test_a_new_listener_has_missed_nothing(storage: Storage) -> None:
    for payload in ("a", "b"):
        await append(storage, payload)
    await forget(storage, up_to="b")
    ear = Attentive()
    async with telling(storage, ear):
        await append(storage, "c")
        await ear.until("c")
    assert ear.heard == ["c"]


async def test_numbers_that_were_never_given_are_not_missed(storage: Storage) -> None:
    ear = Attentive()
    async with telling(storage, ear):
        await append(storage, "a")
        await ear.until("a")
        async with storage.write() as tx:
            await tx.advance_log(await seq(storage, "a") + 100)
        await append(storage, "b")
        await ear.until("b")
    assert ear.heard == ["a", "b"]


@pytest.mark.parametrize("ear", [Ear(), Attentive()], ids=["one that takes no notice", "one that does"])
async def test_the_log_says_which_listener_missed_events(
    storage: Storage, caplog: pytest.LogCaptureFixture, ear: Ear
) -> None:
    async with telling(storage, ear):
        await append(storage, "first")
        await ear.until("first")
    await append(storage, "lost")
    await forget(storage, up_to="lost")
    async with telling(storage, ear):
        await append(storage, "next")
        await ear.until("next")
    [fields] = [record.__dict__["teamchat_fields"] for record in caplog.records]
    assert fields["listener"] == "ear"
    assert fields["first"] == fields["last"]


async def test_a_listener_that_fails_at_what_it_missed_hears_the_next_event(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Attentive):
        async def missed(self, first: int, last: int) -> None:
            raise ValueError("a secret")

    ear = Failing()
    async with telling(storage, ear):
        await append(storage, "first")
        await ear.until("first")
    await append(storage, "lost")
    await forget(storage, up_to="lost")
    async with telling(storage, ear):
        await append(storage, "next")
        await ear.until("next")
    assert "an event listener failed" in caplog.text
