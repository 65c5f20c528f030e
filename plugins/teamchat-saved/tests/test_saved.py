"""H-3, H-7: messages kept for later, on the storage that the tests run on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from msgspec import UNSET
from teamchat_saved import SAVED
from teamchat_saved.saved import MOST_SAVED, Item, Keeping, Saved, are_saved

from teamchat import BadRequest, Capability, NotFound, Storage
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.retention import Retention
from teamchat.mentions import MENTIONS
from teamchat.mentions.activity.offer import ACTIVITY
from teamchat.mentions.activity.reminding import LOOK_SECONDS, Reminding
from teamchat.mentions.activity.service import Feed
from teamchat.model import Caller, Message, now_ms
from teamchat.read_state import READ_STATE
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.threads.offer import THREADS
from teamchat.storage.log import logged_in
from teamchat.stream.rooms import Rooms
from teamchat.testing import CapabilityContract
from tests.harness import running
from tests.storages import open_storage

SOON = 60_000


class TestSaved(CapabilityContract):
    def capability(self) -> Capability:
        return SAVED

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await Saved(app).keep(caller, message.id, Keeping("read this again"))


class WithActivity(TestSaved):
    __test__ = False

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, THREADS, LEVELS, MENTIONS, ACTIVITY]


@dataclass
class World:
    """A server with two users, and a channel."""

    app: Application
    saved: Saved
    ada: Caller
    bob: Caller
    channel: str

    async def post(self, text: str = "hello", channel: str = "") -> str:
        draft = Draft(text)
        return (await self.app.chat.messages.post(self.ada, channel or self.channel, draft)).id

    async def keep(self, message_id: str, note: Any = UNSET, remind_at: Any = UNSET) -> Item:
        return await self.saved.keep(self.bob, message_id, Keeping(note, remind_at))

    async def kept(self) -> list[str]:
        return [one.message.content for one in (await self.saved.page(self.bob, 50, None)).items]

    async def hidden(self) -> str:
        """Make a private channel that both are in."""
        made = await self.app.chat.channels.create(self.ada, NewPrivateChannel("Hidden"))
        await self.app.chat.members.add(self.ada, made.id, [self.bob.user.id])
        return made.id

    async def events(self, kind: str = "SAVED_CHANGED") -> list[tuple[dict[str, Any], Any]]:
        async with self.app.storage.read() as tx:
            logged = await logged_in(tx, 0, 1000)
        return [(json.loads(one.payload), one.audience) for one in logged if one.type == kind]

    async def reminded(self) -> list[str | None]:
        page = await Feed(self.app).page(self.bob, "reminder", None, 50, only_unread=False)
        return [one.message_id for one in page.items]


@asynccontextmanager
async def opened(tmp_path: Path, contract: type[TestSaved] = WithActivity) -> AsyncIterator[World]:
    async with contract().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await user("admin@localhost")
        await app.accounts.users.add(ada, "bob@example.org")
        [channel] = await app.chat.channels.list(ada)
        yield World(app, Saved(app), ada, await user("bob@example.org"), channel.id)


async def test_what_one_keeps_is_listed_newest_first_and_for_nobody_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one, two = await world.post("one"), await world.post("two")
        await world.keep(two)
        item = await world.keep(one, "why")
        assert (item.note, item.remind_at, item.message.content) == ("why", None, "one")
        assert (await world.saved.page(world.bob, 50, None)).items[0] == item
        assert await world.kept() == ["one", "two"]
        assert (await world.saved.page(world.ada, 50, None)).items == []
        await world.saved.drop(world.bob, two)
        assert await world.kept() == ["one"]


async def test_pages_follow_each_other_also_when_what_a_cursor_points_at_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        ids = [await world.post(str(number)) for number in range(7)]
        for id_ in ids:
            await world.keep(id_)
        first = await world.saved.page(world.bob, 3, None)
        assert first.next is not None
        await world.saved.drop(world.bob, first.items[-1].message.id)
        second = await world.saved.page(world.bob, 3, first.next)
        third = await world.saved.page(world.bob, 3, second.next)
        listed = [one.message.id for page in (first, second, third) for one in page.items]
        assert sorted(listed) == ids
        assert third.next is None
        assert [one.saved_at for one in first.items] == sorted(
            (one.saved_at for one in first.items), reverse=True
        )
        for cursor in ("", "x", "1", "1-x", "1-" + "0" * 33):
            with pytest.raises(BadRequest, match="cursor"):
                await world.saved.page(world.bob, 3, cursor)


async def test_what_is_left_out_stays_and_what_is_the_same_is_told_to_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message, then = await world.post(), now_ms() + SOON
        first = await world.keep(message, "why", then)
        assert await world.keep(message) == first
        assert await world.keep(message, "why", then) == first
        noted = await world.keep(message, "because")
        assert (noted.note, noted.remind_at, noted.saved_at) == ("because", then, first.saved_at)
        assert (await world.keep(message, remind_at=None)).remind_at is None
        for _ in range(2):
            await world.saved.drop(world.bob, message)
        assert [payload for payload, _ in await world.events()] == [
            {"messageId": message, "saved": True, "remindAt": then},
            {"messageId": message, "saved": True, "remindAt": then},
            {"messageId": message, "saved": True, "remindAt": None},
            {"messageId": message, "saved": False, "remindAt": None},
        ]
        assert {audience for _, audience in await world.events()} == {(world.bob.user.id,)}


async def test_what_is_wrong_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post()
        with pytest.raises(BadRequest, match="note"):
            await world.keep(message, "n" * 501)
        with pytest.raises(BadRequest, match="future"):
            await world.keep(message, remind_at=now_ms() - 1)
        with pytest.raises(NotFound):
            await world.keep("f" * 32)
        assert await world.kept() == []
        assert (await world.keep(message, "n" * 500)).note == "n" * 500


async def test_d03_the_message_is_looked_for_before_the_body(tmp_path: Path) -> None:
    async with running(tmp_path) as server, await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        said = (await ada.post(f"/channels/{channel['id']}/messages", json={"content": "hello"})).json()
        for message_id, status in (("unknown", 404), (said["message"]["id"], 400)):
            for body in ({"remindAt": 1}, {"note": 1}):
                answer = await ada.put(f"/me/saved/{message_id}", json=body)
                assert answer.status_code == status, answer.text


async def test_x3_what_is_out_of_sight_is_as_what_was_never_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        channel = await world.hidden()
        seen = [await world.post(f"seen {number}") for number in range(3)]
        secret = await world.post("secret", channel)
        for id_ in seen:
            await world.keep(id_)
        without = [await world.saved.page(world.bob, limit, None) for limit in (2, 3, 4)]
        await world.keep(secret)
        assert await world.kept() == ["secret", "seen 2", "seen 1", "seen 0"]
        await world.app.chat.members.remove(world.ada, channel, world.bob.user.id)
        after = [await world.saved.page(world.bob, limit, None) for limit in (2, 3, 4)]
        assert [one[:2] for one in after] == [one[:2] for one in without]
        for ask in (world.keep, lambda id_: world.saved.drop(world.bob, id_)):
            with pytest.raises(NotFound):
                await ask(secret)
        await world.app.chat.members.add(world.ada, channel, [world.bob.user.id])
        assert await world.kept() == ["secret", "seen 2", "seen 1", "seen 0"]


@pytest.mark.parametrize("way", ["deleted", "retention", "its channel deleted"])
async def test_it_goes_with_its_message_and_no_event_of_its_own(tmp_path: Path, way: str) -> None:
    async with opened(tmp_path) as world:
        channel = await world.hidden()
        message = await world.post("secret", channel)
        await world.keep(message, remind_at=now_ms() + SOON)
        await Reminding(world.app).give(now_ms() + 2 * SOON)
        assert await world.reminded() == [message]
        if way == "deleted":
            await world.app.chat.messages.delete(world.ada, message)
        elif way == "retention":
            await Retention(world.app.storage, -1, world.app.capabilities).sweep()
        else:
            await world.app.chat.channels.delete(world.ada, channel)
        assert await world.kept() == await world.reminded() == []
        async with world.app.storage.read() as tx:
            assert await tx.fetch("select message_id from saved") == []
            assert await tx.fetch("select message_id from activity_reminders") == []
        assert len(await world.events()) == 1


async def test_a_user_who_is_removed_keeps_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.keep(await world.post(), remind_at=now_ms() + SOON)
        await world.app.accounts.users.remove(world.ada, world.bob.user.id)
        async with world.app.storage.read() as tx:
            assert await tx.fetch("select message_id from saved") == []
        assert await Reminding(world.app).give(now_ms() + 2 * SOON) == 0


async def test_h7_a_reminder_comes_once_when_it_is_due(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message, other, then = await world.post(), await world.post(), now_ms() + SOON
        await world.keep(message, remind_at=then)
        await world.keep(other, remind_at=then + SOON)
        reminding = Reminding(world.app)
        assert await reminding.give(then - 1) == 0
        assert await reminding.give(then) == 1
        assert await reminding.give(then) == 0
        assert await world.reminded() == [message]
        [(payload, audience)] = await world.events("NEW_ACTIVITY")
        assert payload["kind"] == "reminder"
        assert (payload["messageId"], payload["placeId"]) == (message, world.channel)
        async with world.app.storage.read() as tx:
            rooms = await Rooms.read(tx)
        assert rooms.sees(world.bob.user.id, audience)
        assert not rooms.sees(world.ada.user.id, audience)
        [item, _] = reversed((await world.saved.page(world.bob, 50, None)).items)
        assert item.remind_at == then
        # Another time is another reminder; the same one, or another note, is none.
        await world.keep(message, "again", then)
        assert await reminding.give(then) == 0
        await world.keep(message, remind_at=then + 1)
        assert await reminding.give(then + 1) == 1
        assert await world.reminded() == [message]


async def test_two_servers_give_each_reminder_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for number in range(20):
            await world.keep(await world.post(str(number)), remind_at=now_ms() + SOON)
        given: list[int] = []

        async def give() -> None:
            given.append(await Reminding(world.app).give(now_ms() + 2 * SOON))

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(give)
        assert sum(given) == len(await world.reminded()) == len(await world.events("NEW_ACTIVITY")) == 20


async def test_x2_who_sees_the_message_no_more_is_not_reminded_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        channel = await world.hidden()
        message = await world.post("secret", channel)
        await world.keep(message, remind_at=now_ms() + SOON)
        await world.app.chat.members.remove(world.ada, channel, world.bob.user.id)
        await Reminding(world.app).give(now_ms() + 2 * SOON)
        async with world.app.storage.read() as tx:
            rooms = await Rooms.read(tx)
        told = [one for one, audience in await world.events("NEW_ACTIVITY") if one["kind"] == "reminder"]
        heard = [
            one
            for one, audience in await world.events("NEW_ACTIVITY")
            if one["kind"] == "reminder" and rooms.sees(world.bob.user.id, audience)
        ]
        assert (len(told), heard) == (1, [])
        assert await world.reminded() == []
        page = await Feed(world.app).page(world.bob, None, None, 50, only_unread=False)
        assert page.unread == 0


async def test_who_unsaves_in_time_is_not_reminded(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.post()
        await world.keep(message, remind_at=now_ms() + SOON)
        await world.saved.drop(world.bob, message)
        assert await Reminding(world.app).give(now_ms() + 2 * SOON) == 0


async def test_without_a_feed_there_are_no_reminders(tmp_path: Path) -> None:
    async with opened(tmp_path, TestSaved) as world:
        message = await world.post()
        with pytest.raises(BadRequest, match="activity"):
            await world.keep(message, remind_at=now_ms() + SOON)
        assert (await world.keep(message, "a note")).note == "a note"


async def test_a_user_keeps_so_many_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("teamchat_saved.saved.MOST_SAVED", 2)
    async with opened(tmp_path) as world:
        channel = await world.hidden()
        ids = [await world.post(str(number)) for number in range(3)]
        await world.keep(await world.post("hidden", channel))
        await world.app.chat.members.remove(world.ada, channel, world.bob.user.id)
        for id_ in ids[:2]:  # What is hidden is not counted.
            await world.keep(id_)
        with pytest.raises(BadRequest, match="saved messages already"):
            await world.keep(ids[2])
        await world.keep(ids[0], "kept already")
        assert MOST_SAVED == 5000


async def test_a_search_asks_for_what_one_keeps_oneself(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        one, two = await world.post(), await world.post()
        await world.keep(one)
        async with world.app.storage.read() as tx:
            assert set(await are_saved(tx, world.bob, [one, two], "")) == {one}
            assert set(await are_saved(tx, world.ada, [one, two], "")) == set()
        assert "is:saved" in world.app.message_tests


class Looks(Reminding):
    """The service, with a wall clock that is set, and looks that can be waited for one by one."""

    def __init__(self, app: Application, clock: trio.testing.MockClock) -> None:
        super().__init__(app)
        self._clock = clock
        self._given: trio.MemorySendChannel[int]
        self._given, self._heard = trio.open_memory_channel[int](100)

    async def give(self, now: int) -> int:
        given = await super().give(now)
        self._given.send_nowait(given)
        return given

    async def next(self) -> int:
        """Let the service sleep, and look once more."""
        await trio.testing.wait_all_tasks_blocked()
        self._clock.jump(LOOK_SECONDS)
        return await self._heard.receive()

    async def first(self) -> int:
        return await self._heard.receive()


async def test_h7_reminders_come_within_seconds_of_their_time_however_the_wall_clock_is_set(
    tmp_path: Path, mock_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as world:
        wall = begin = now_ms()
        for module in ("teamchat.mentions.activity.reminding", "teamchat_saved.saved"):
            monkeypatch.setattr(f"{module}.now_ms", lambda: wall)
        messages = [await world.post(str(number)) for number in range(3)]
        for number, minutes in enumerate((1, 60, 30)):
            await world.keep(messages[number], remind_at=begin + minutes * 60_000)
        async with trio.open_nursery() as nursery:
            looks = Looks(world.app, mock_clock)
            nursery.start_soon(looks.run)
            assert await looks.first() == 0
            wall = begin + 60_000 - 1
            assert await looks.next() == 0
            wall += 1
            assert await looks.next() == 1
            # The clock is set back by an hour: nothing comes again, and what is to come waits for its time.
            wall -= 3_600_000
            assert await looks.next() == 0
            wall = begin + 30 * 60_000
            assert await looks.next() == 1
            # The machine slept for a day.
            wall += 24 * 3_600_000
            assert await looks.next() == 1
            assert await looks.next() == 0
            nursery.cancel_scope.cancel()
        assert await world.reminded() == [messages[1], messages[2], messages[0]]
