"""What notifies whom as extension D-9 has it, on the storage that the tests run on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from teamchat import BadRequest, Capability, Forbidden, NotFound
from teamchat.application import Application
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.model import Caller, Message, now_ms
from teamchat.read_state import READ_STATE
from teamchat.read_state.badge import badge
from teamchat.read_state.levels import keywords, levels
from teamchat.read_state.levels.levels import Listening, levels_in
from teamchat.read_state.levels.offer import LEVELS
from teamchat.read_state.levels.places import PlaceChange
from teamchat.read_state.levels.service import Notifications
from teamchat.read_state.levels.settings import Defaults, QuietHours, SettingsChange
from teamchat.read_state.places import ReadState
from teamchat.read_state.threads.offer import THREADS
from teamchat.read_state.threads.states import ThreadState
from teamchat.storage.log import logged_in
from teamchat.testing import CapabilityContract
from tests.read_state.world import Offered, World

Opened = Callable[[], AbstractAsyncContextManager[World]]
HOUR = 3600 * 1000


class TestLevels(Offered, CapabilityContract):
    """What every capability must do."""

    def capability(self) -> Capability:
        return LEVELS

    def beside(self) -> Sequence[Capability]:
        return [READ_STATE, THREADS]

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        notifications = Notifications(app)
        await notifications.change_place(
            caller, message.channel_id, PlaceChange("all", muted_until=now_ms() + HOUR)
        )
        hours = QuietHours("Europe/Berlin", [1, 2], "22:00", "06:30")
        urgent = [caller.user.id]
        await notifications.change(
            caller, SettingsChange(keywords=["deploy"], quiet_hours=hours, urgent_from=urgent)
        )


async def change(it: World, name: str, **asked: Any) -> Any:
    body = msgspec.convert(asked, SettingsChange)
    return await it.notifications.change(it.callers[name], body)


async def place(it: World, name: str, room: str, **asked: Any) -> ReadState:
    body = msgspec.convert(asked, PlaceChange)
    return await it.notifications.change_place(it.callers[name], room, body)


async def told(it: World) -> list[tuple[Any, dict[str, Any]]]:
    async with it.app.storage.read() as tx:
        events = await logged_in(tx, 0, 1000)
    return [
        (event.audience, json.loads(event.payload))
        for event in events
        if event.type == "NOTIFICATION_SETTINGS"
    ]


async def test_without_a_choice_there_are_the_defaults(world: Opened) -> None:
    async with world() as it:
        settings = await it.notifications.settings(it.callers["bob"])
        assert msgspec.to_builtins(settings) == {
            "defaults": {"channel": "mentions", "group": "all", "direct": "all", "thread": "all"},
            "keywords": [],
            "quietHours": None,
            "pausedUntil": None,
            "preview": "full",
            "urgentFrom": [],
            "sharePresence": True,
            "shareTyping": True,
        }
        state = await it.state("bob", it.general)
        assert (state.level, state.is_muted, state.muted_until) == ("default", False, None)
        assert state.ignore_channel_mentions is msgspec.UNSET


async def test_what_is_named_changes_and_the_user_alone_is_told(world: Opened) -> None:
    async with world() as it:
        await change(it, "bob", defaults={"channel": "all"}, preview="sender")
        later = now_ms() + HOUR
        hours = {"tz": "Europe/Berlin", "days": [5, 1, 5], "from": "22:00", "to": "06:30"}
        changed = await change(
            it,
            "bob",
            defaults={"thread": "mentions"},
            keywords=[" deploy ", "Build  fails", "DEPLOY"],
            quietHours=hours,
            pausedUntil=later,
            urgentFrom=[it.id("ada")],
            shareTyping=False,
        )
        expected = {
            "defaults": {"channel": "all", "group": "all", "direct": "all", "thread": "mentions"},
            "keywords": ["deploy", "Build fails"],
            "quietHours": hours | {"days": [1, 5]},
            "pausedUntil": later,
            "preview": "sender",
            "urgentFrom": [it.id("ada")],
            "sharePresence": True,
            "shareTyping": False,
        }
        assert msgspec.to_builtins(changed) == expected
        assert await it.notifications.settings(it.callers["bob"]) == changed
        [_, last] = await told(it)
        assert last == ((it.id("bob"),), expected)
        assert (await it.notifications.settings(it.callers["ada"])).keywords == []


async def test_d10_what_is_as_it_was_changes_nothing_and_nobody_is_told(world: Opened) -> None:
    async with world() as it:
        await change(it, "bob", defaults={"channel": "mentions"}, keywords=[], quietHours=None)
        await place(it, "bob", it.general, level="default", isMuted=False, mutedUntil=None)
        mark = (await it.overview("bob")).mark
        await change(it, "bob", pausedUntil=now_ms() - 1)
        await place(it, "bob", it.general, mutedUntil=now_ms() - 1)
        assert await told(it) == []
        assert (await it.overview("bob", mark)).states == []
        await place(it, "bob", it.general, level="nothing")
        await place(it, "bob", it.general, level="nothing")
        assert len(await told(it)) == 1
        assert len((await it.overview("bob", mark)).states) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"keywords": ["a"]},
        {"keywords": ["  "]},
        {"keywords": ["x" * 65]},
        {"keywords": ["with\u0000nul"]},
        {"keywords": [f"word {number}" for number in range(21)]},
        {"quietHours": {"tz": "Europe/Atlantis", "days": [1], "from": "22:00", "to": "06:00"}},
        {"quietHours": {"tz": "../UTC", "days": [1], "from": "22:00", "to": "06:00"}},
        {"quietHours": {"tz": "Europe", "days": [1], "from": "22:00", "to": "06:00"}},
        {"quietHours": {"tz": "UTC", "days": [], "from": "22:00", "to": "06:00"}},
        {"quietHours": {"tz": "UTC", "days": [1], "from": "24:00", "to": "06:00"}},
        {"quietHours": {"tz": "UTC", "days": [1], "from": "6:00", "to": "22:00"}},
        {"quietHours": {"tz": "UTC", "days": [1], "from": "22:00", "to": "22:00"}},
        {"urgentFrom": ["0" * 32 for _ in range(1)] + [f"{number:032x}" for number in range(21)]},
    ],
)
async def test_what_can_not_be_is_refused_and_nothing_is_stored(world: Opened, asked: Any) -> None:
    async with world() as it:
        with pytest.raises(BadRequest):
            await change(it, "bob", preview="none", **asked)
        assert (await it.notifications.settings(it.callers["bob"])).preview == "full"


async def test_keywords_count_from_when_they_were_set(world: Opened) -> None:
    async with world() as it:
        await change(it, "bob", keywords=["deploy", "build"])
        async with it.app.storage.write() as tx:
            first = await keywords.version(tx)
            await tx.fetch("update notification_levels_keywords set since = 1")
        await change(it, "bob", keywords=["Deploy", "lunch"])
        async with it.app.storage.read() as tx:
            found = {one.key: one.since for one in await keywords.everybodys(tx)}
            second = await keywords.version(tx)
        assert set(found) == {"deploy", "lunch"}
        assert found["deploy"] == 1
        assert found["lunch"] > 1
        assert second > first
        await change(it, "bob", preview="none")
        async with it.app.storage.read() as tx:
            assert await keywords.version(tx) == second


async def test_a_place_has_a_level_of_its_own_and_is_muted_for_a_time(world: Opened) -> None:
    async with world() as it:
        until = now_ms() + HOUR
        state = await place(it, "bob", it.general, level="all", mutedUntil=until, ignoreChannelMentions=True)
        assert (state.level, state.is_muted, state.muted_until) == ("all", True, until)
        assert state.ignore_channel_mentions is True
        assert await it.state("bob", it.general) == state
        assert (await it.state("eve", it.general)).level == "default"
        [(audience, payload)] = await told(it)
        assert audience == (it.id("bob"),)
        assert payload == {
            "placeId": it.general,
            "level": "all",
            "isMuted": True,
            "mutedUntil": until,
            "ignoreChannelMentions": True,
        }
        forever = await place(it, "bob", it.general, mutedUntil=None)
        assert (forever.is_muted, forever.muted_until) == (True, None)
        loud = await place(it, "bob", it.general, isMuted=False)
        assert (loud.level, loud.is_muted, loud.muted_until) == ("all", False, None)
        assert (await place(it, "bob", it.general, isMuted=True)).is_muted
        with pytest.raises(BadRequest):
            await place(it, "bob", it.general, isMuted=False, mutedUntil=until)


async def test_a_place_that_was_muted_until_then_is_muted_no_longer(
    world: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as it:
        until = now_ms() + HOUR
        await place(it, "bob", it.general, mutedUntil=until)
        monkeypatch.setattr(levels, "now_ms", lambda: until)
        state = await it.state("bob", it.general)
        assert (state.is_muted, state.muted_until) == (False, None)
        assert not (await _listening(it, "bob", it.general)).is_muted


async def test_what_is_muted_is_told_and_not_in_the_badge(world: Opened) -> None:
    async with world() as it:
        direct, other = await it.direct("ada", "bob"), await it.direct("eve", "bob")
        await it.post("ada", direct)
        await it.post("eve", other)
        assert (await it.overview("bob")).badge == 2
        await place(it, "bob", direct, isMuted=True)
        overview = await it.overview("bob")
        assert overview.badge == 1
        assert {one.place_id: one.unread_count for one in overview.states}[direct] == 1


def test_the_badge_is_the_sum_of_what_concerns_one() -> None:
    def read(id_: str, kind: str, unread: int, mentions: int, *, is_muted: bool = False) -> ReadState:
        return ReadState(id_, kind, "", 0, False, unread, None, mention_count=mentions, is_muted=is_muted)

    def thread(place_id: str, mentions: int) -> ThreadState:
        return ThreadState("m", place_id, True, "", 0, 5, 0, mention_count=mentions)

    states = [read("d", "direct", 3, 1), read("g", "group", 4, 2), read("c", "channel", 50, 5)]
    assert badge(states, []) == 3 + 4 + 5
    # Of the five that mention one in the channel, four are replies in two threads that one follows.
    assert badge(states, [thread("c", 3), thread("c", 1), thread("c", 0)]) == 3 + 4 + 1 + 2
    muted = [read("d", "direct", 3, 0, is_muted=True), read("c", "channel", 9, 2, is_muted=True)]
    assert badge(muted, [thread("c", 1)]) == 0
    # Of a public channel that one takes part in without being a member of it.
    assert badge([], [thread("elsewhere", 2)]) == 1


async def _listening(it: World, name: str, room: str) -> Listening:
    async with it.app.storage.read() as tx:
        return (await levels_in(tx, room, [it.id(name)]))[it.id(name)]


async def test_who_asks_is_told_the_level_that_holds(world: Opened) -> None:
    async with world() as it:
        direct = await it.direct("ada", "bob")
        group, _ = await it.app.chat.groups.open(it.callers["ada"], GroupOf([it.id("bob"), it.id("eve")]))
        await place(it, "bob", it.general, ignoreChannelMentions=True)
        await change(it, "eve", defaults={"channel": "all", "group": "nothing", "thread": "mentions"})
        await place(it, "ada", it.general, level="nothing", isMuted=True)
        ada, bob, eve = (it.id(name) for name in ("ada", "bob", "eve"))
        async with it.app.storage.read() as tx:
            assert await levels_in(tx, direct, [bob]) == {bob: Listening("all", "all")}
            assert await levels_in(tx, group.id, [bob, eve]) == {
                bob: Listening("all", "all"),
                eve: Listening("nothing", "mentions"),
            }
            general = await levels_in(tx, it.general, [ada, bob, eve])
            assert await levels_in(tx, "0" * 32, [bob]) == {}
        assert general == {
            ada: Listening("nothing", "nothing", is_muted=True),
            bob: Listening("mentions", "all", ignores_wide=True),
            eve: Listening("all", "mentions"),
        }
        assert not general[ada].has_keywords
        assert general[bob].has_keywords


async def test_leaving_ends_what_was_chosen_for_a_place(world: Opened) -> None:
    async with world() as it:
        room = await it.private("ada", "bob")
        for one in (room, it.general):
            await place(it, "bob", one, level="all")
        await it.app.chat.members.remove(it.callers["ada"], room, it.id("bob"))
        await it.app.chat.members.add(it.callers["ada"], room, [it.id("bob")])
        assert (await it.state("bob", room)).level == "default"
        assert (await it.state("bob", it.general)).level == "all"
        named = PrivacyChange(is_private=True, members=[it.id("eve")])
        await it.app.chat.privacy.change(it.callers["ada"], it.general, named)
        await it.app.chat.members.add(it.callers["ada"], it.general, [it.id("bob")])
        assert (await it.state("bob", it.general)).level == "default"


async def test_x3_nothing_is_chosen_for_what_one_is_not_in(world: Opened) -> None:
    async with world() as it:
        public, private = await it.public("ada", "plans"), await it.private("ada")
        direct = await it.direct("ada", "eve")
        for room, error in (
            (public, NotFound),
            (private, NotFound),
            ("0" * 32, NotFound),
            (direct, Forbidden),
        ):
            with pytest.raises(error):
                await place(it, "bob", room, level="all")
            with pytest.raises(error):
                await it.notifications.check_member(it.callers["bob"], room)


async def test_a_removed_user_leaves_nothing_and_is_on_nobodys_list(world: Opened) -> None:
    async with world() as it:
        await change(it, "bob", keywords=["deploy"], urgentFrom=[it.id("ada")])
        await change(it, "eve", urgentFrom=[it.id("bob"), it.id("ada")])
        await place(it, "bob", it.general, level="all")
        with pytest.raises(NotFound):
            await change(it, "eve", urgentFrom=["0" * 32])
        async with it.app.storage.read() as tx:
            version = await keywords.version(tx)
        await it.app.accounts.users.remove(it.callers["ada"], it.id("bob"))
        async with it.app.storage.read() as tx:
            for table in ("", "_settings", "_keywords", "_urgent"):
                sql = f"select 1 from notification_levels{table} where user_id = $1"
                assert await tx.fetch(sql, it.id("bob")) == []
            assert await keywords.version(tx) > version
        assert (await it.notifications.settings(it.callers["eve"])).urgent_from == [it.id("ada")]
        with pytest.raises(NotFound):
            await change(it, "eve", urgentFrom=[it.id("bob")])


async def test_the_defaults_of_the_settings_are_those_of_the_levels(world: Opened) -> None:
    assert msgspec.to_builtins(Defaults()) == dict(levels.DEFAULTS)
