"""J-3 to J-7: what is pushed to whom, when, and what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import trio
from teamchat_web_push import sender as module
from teamchat_web_push.queue import _Wanted
from teamchat_web_push.why import decisions

from teamchat import NotFound, Storage
from teamchat.chat import Draft, deletion
from teamchat.model import now_ms
from teamchat.read_state.service import ReadStates
from tests.push_world import PushContract, World, opened

HALF_A_MINUTE = 30_000
HOUR = 3_600_000


async def test_a_direct_message_is_pushed_to_each_device_of_the_other_and_says_what_it_is(
    world: World,
) -> None:
    phone, _ = await world.subscribe(world.bob)
    tablet, _ = await world.subscribe(world.bob)
    own, _ = await world.subscribe(world.ada)
    message = await world.direct("Are *you* [there](https://example.org)?")
    await world.go()
    for browser in (phone, tablet):
        [push] = browser.received
        assert push.payload["v"] == 1
        assert push.payload["kind"] == "direct"
        assert push.payload["messageId"] == message
        assert push.payload["placeId"].startswith("dm:")
        assert push.payload["title"] == "Admin"
        assert push.payload["body"] == "Are you there?"
        assert push.payload["badge"] == 1
        assert push.payload["url"].endswith(f"/#/messages/{message}")
        assert push.headers["ttl"] == "86400"
        assert push.headers["urgency"] == "high"
        assert len(push.headers["topic"]) == 32
        assert push.claims["sub"] == "mailto:admin@example.org"
    assert phone.received[0].headers["topic"] != tablet.received[0].headers["topic"]
    assert own.received == []
    assert await world.reasons() == [("sent", "direct"), ("sent", "direct")]


async def test_levels_decide_in_channels_and_a_mention_says_so(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    await world.choose(world.cleo, defaults={"channel": "all"})
    await world.post("for those who want all")
    await world.go()
    assert [one["kind"] for one in cleo.payloads] == ["message"]
    assert bob.payloads == []
    await world.post("@bob look")
    world.ahead += 5000
    await world.go()
    assert [one["kind"] for one in bob.payloads] == ["mention"]
    assert bob.received[0].headers["urgency"] == "high"
    assert bob.payloads[0]["title"] == "Admin · #General"
    assert [one["kind"] for one in cleo.payloads] == ["message", "message"]
    assert cleo.received[0].headers["urgency"] == "normal"
    assert cleo.received[0].headers["ttl"] == "43200"


async def test_a_muted_place_and_the_level_nothing_push_nothing_not_even_a_mention(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    await world.level(world.bob, isMuted=True)
    await world.level(world.cleo, level="nothing")
    await world.post("@bob @cleo look")
    await world.go()
    assert bob.payloads == cleo.payloads == []
    assert set(await world.reasons()) == {("skipped", "muted"), ("skipped", "level")}


async def test_what_was_read_meanwhile_is_not_pushed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob look")
    await world.hear()
    await world.read(world.bob, message)
    await world.send()
    assert bob.payloads == []
    assert await world.reasons() == [("skipped", "read")]


async def test_who_does_not_see_the_place_any_more_is_pushed_nothing_of_it(world: World) -> None:
    hidden = await world.private(world.bob)
    bob, _ = await world.subscribe(world.bob)
    await world.post("@bob look", channel=hidden)
    await world.hear()
    await world.app.chat.members.remove(world.ada, hidden, world.bob.user.id)
    await world.send()
    assert bob.payloads == []
    assert await world.reasons() == [("skipped", "sight")]


async def test_what_is_deleted_leaves_the_queue_in_that_transaction_and_is_not_pushed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob look")
    await world.hear()
    assert len(await world.rows()) == 1
    await world.app.chat.messages.delete(world.ada, message)
    assert await world.rows() == []
    await world.send()
    again = await world.post("@bob look")
    await world.app.chat.messages.delete(world.ada, again)
    await world.go()  # The event is read after the message is gone.
    assert bob.payloads == []


async def test_what_is_deleted_and_not_removed_yet_is_not_pushed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "PART", 0)
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob look")
    await world.hear()
    await world.app.chat.messages.delete(world.ada, message)
    await world.send()
    again = await world.post("@bob look")
    await world.app.chat.messages.delete(world.ada, again)
    await world.go()
    assert bob.payloads == []


async def test_followers_are_pushed_replies_and_a_reader_of_the_thread_is_not(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    parent = await world.post("who?", by=world.bob)
    reply = await world.reply(parent)
    await world.go()
    [push] = bob.payloads
    assert (push["kind"], push["threadId"], push["messageId"]) == ("reply", parent, reply)
    assert cleo.payloads == []


async def test_the_badges_of_many_are_those_that_each_of_them_reads(world: World) -> None:
    hidden = await world.private(world.bob)
    unseen = await world.post("who?", by=world.bob, channel=hidden)
    for text in ("@bob here", "@channel, too"):
        await world.reply(unseen, text)
    parent = await world.post("@cleo look", by=world.bob)
    await world.reply(parent, "@bob indeed")
    await world.direct("hello")
    read = await world.reply(await world.post("and this?", by=world.cleo), "@cleo yes")
    people = [world.ada, world.bob, world.cleo]
    notices = world.app.notices
    assert notices is not None

    async def badges() -> list[int]:
        async with world.app.storage.read() as tx:
            found = await notices.badges(tx, [one.user.id for one in people])
        told = [(await ReadStates(world.app).overview(one, None)).badge for one in people]
        assert list(found.values()) == told
        return told

    assert await badges() == [0, 3, 2]
    await world.app.chat.members.remove(world.ada, hidden, world.bob.user.id)
    await world.app.chat.messages.delete(world.ada, read)
    assert await badges() == [0, 2, 1]


async def test_an_edit_that_adds_a_mention_is_pushed_once_also_after_the_place_was_read(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.read(world.bob, message)
    await world.go()
    for text in ("@bob look", "look", "@bob look again"):
        await world.app.chat.messages.edit(world.ada, message, Draft(text))
        await world.go()
    assert [one["kind"] for one in bob.payloads] == ["mention"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@bob look", "@bob @cleo look"),
        ("@bob look", "@bob @channel look"),
        ("@channel look", "@channel @bob look"),
    ],
)
async def test_an_edit_that_mentions_others_pushes_nothing_to_who_was_mentioned_and_has_read_it(
    world: World, before: str, after: str
) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post(before)
    await world.hear()
    await world.read(world.bob, message)
    await world.send()
    assert await world.reasons() == [("skipped", "read")]
    await world.app.chat.messages.edit(world.ada, message, Draft(after))
    await world.go()
    assert bob.payloads == []
    assert set(await world.reasons()) <= {("skipped", "read"), ("skipped", "level")}


async def test_an_edit_that_names_who_was_not_meant_by_all_is_pushed(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.level(world.bob, ignoreChannelMentions=True)
    message = await world.post("@channel look")
    await world.read(world.bob, message)
    await world.go()
    await world.app.accounts.users.add(world.ada, "dora@example.org")
    dora = await world.user("dora@example.org")
    late, _ = await world.subscribe(dora)
    await world.app.chat.messages.edit(world.ada, message, Draft("@channel look @bob @dora"))
    await world.go()
    for browser in (bob, late):
        assert [one["kind"] for one in browser.payloads] == ["mention"]


async def test_an_edit_pushes_nothing_to_who_was_pushed_the_message_already(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"})
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.go()
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    world.ahead += 5000
    await world.go()
    assert len(bob.payloads) == 1


async def test_a_message_that_waits_while_it_is_edited_is_pushed_once(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"})
    bob, _ = await world.subscribe(world.bob)
    world.activate(world.bob)
    message = await world.post("look")
    await world.go()
    world.ahead += 10_000
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    await world.go()
    assert await world.reasons() == [(None, "active"), (None, "active")]
    for _ in range(3):
        world.ahead += 21_000
        await world.go()
    assert [(one["kind"], one["body"]) for one in bob.payloads] == [("mention", "@bob look")]
    assert await world.reasons() == [("sent", "mention"), ("skipped", "told")]


async def test_a_message_that_is_held_while_it_is_edited_is_pushed_once_at_the_end(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"}, pausedUntil=now_ms() + HOUR)
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.go()
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    await world.hear()
    await world.choose(
        world.bob, pausedUntil=None
    )  # The edit comes to be judged when nothing is held any more.
    await world.go()
    world.ahead += HOUR
    await world.go()
    assert [(one["kind"], one["messageId"]) for one in bob.payloads] == [("mention", message)]


async def test_an_edit_of_what_is_on_its_way_waits_for_what_becomes_of_it(world: World) -> None:
    await world.choose(world.bob, defaults={"channel": "all"})
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("look")
    await world.hear()
    async with trio.open_nursery() as nursery:
        assert await world.sender.round(nursery) == 1
        await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
        await world.hear()
        world.ahead += 5000
        assert await world.sender.round(nursery) == 0
    await world.sender.note()
    await world.go()
    assert [one["kind"] for one in bob.payloads] == ["message"]
    assert sorted(await world.reasons()) == [("sent", "message"), ("skipped", "told")]


async def test_what_is_noted_while_it_is_looked_for_is_not_judged_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct()
    await world.hear()
    async with trio.open_nursery() as nursery:
        await world.sender.round(nursery)
    due = world.queue.due

    async def noted_meanwhile(*asked: Any, **more: Any) -> Any:
        found = await due(*asked, **more)
        await world.sender.note()
        return found

    monkeypatch.setattr(world.queue, "due", noted_meanwhile)
    async with trio.open_nursery() as nursery:
        assert await world.sender.round(nursery) == 0
    assert await world.reasons() == [("sent", "direct")]
    assert len(bob.payloads) == 1


async def test_an_open_browser_delays_a_push_and_never_swallows_it(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    world.activate(world.bob)
    await world.post("@bob look")
    await world.go()
    assert bob.payloads == []
    assert await world.reasons() == [(None, "active")]
    world.ahead += HALF_A_MINUTE - 5000
    await world.go()
    assert bob.payloads == []
    world.ahead += 6000  # They are active still, and have not read it.
    await world.go()
    assert len(bob.payloads) == 1


async def test_what_is_read_on_the_laptop_within_half_a_minute_leaves_the_phone_silent(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    world.activate(world.bob)
    message = await world.post("@bob look")
    await world.go()
    await world.read(world.bob, message)
    world.ahead += HALF_A_MINUTE + 1000
    await world.go()
    assert bob.payloads == []
    assert await world.reasons() == [("skipped", "read")]


async def test_what_was_held_while_paused_is_one_push_at_the_end(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    first, second = await world.post("@bob one"), await world.direct("two")
    read = await world.post("@bob three")
    await world.go()
    assert bob.payloads == []
    await world.read(world.bob, read)
    world.ahead += HOUR + 1000
    await world.go()
    [push] = bob.payloads
    assert push["kind"] == "direct", "of three, two were read, and one is pushed as it is"
    world.ahead = 0
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    later = [await world.post(f"@bob {number}") for number in range(3)]
    await world.go()
    world.ahead += HOUR + 1000
    await world.go()
    assert len(bob.payloads) == 2
    assert bob.payloads[1]["kind"] == "summary"
    assert bob.payloads[1]["messageId"] == later[-1]
    assert bob.payloads[1]["body"] == "3 messages while it was quiet, from Admin"
    assert first != second


class WithFactors(PushContract):
    """Demands a second factor of admins."""

    second_factor = "admins"


async def test_who_has_to_set_up_a_second_factor_is_pushed_nothing_before_and_all_of_it_then(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, WithFactors()) as world:
        bob, _ = await world.subscribe(world.bob)
        cleo, _ = await world.subscribe(world.cleo)
        await world.hear()
        first = await world.post("@bob @cleo before he is an admin")
        await world.hear()
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        later = await world.direct("and after")
        await world.go()
        assert bob.payloads == [], "it is asked when a push is sent, not when it is queued"
        assert [one["messageId"] for one in cleo.payloads] == [first], "others are held up by nothing"
        world.ahead += 11 * HOUR
        await world.go()
        assert bob.payloads == []
        await world.set_up_second_factor(world.bob)
        world.ahead += module.WITHOUT_FACTOR_MS
        await world.go()
        [push] = bob.payloads
        assert push["kind"] == "summary"
        assert push["messageId"] == later


async def test_who_is_an_admin_no_longer_is_pushed_what_waited_for_a_second_factor(tmp_path: Path) -> None:
    async with opened(tmp_path, WithFactors()) as world:
        bob, _ = await world.subscribe(world.bob)
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        message = await world.direct("hello")
        await world.go()
        assert await world.reasons() == [(None, "second factor")]
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "user")
        world.ahead += module.WITHOUT_FACTOR_MS
        await world.go()
        assert [one["messageId"] for one in bob.payloads] == [message]


async def test_what_waits_for_a_second_factor_is_given_up_after_its_time(tmp_path: Path) -> None:
    async with opened(tmp_path, WithFactors()) as world:
        bob, _ = await world.subscribe(world.bob)
        await world.app.accounts.users.set_role(world.ada, world.bob.user.id, "admin")
        await world.direct("hello")
        await world.go()
        world.ahead += 25 * HOUR
        await world.go()
        assert [outcome for outcome, _ in await world.reasons()] == ["expired"]
        assert bob.payloads == []


async def test_what_was_held_is_one_push_however_much_it_is(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    cleo, _ = await world.subscribe(world.cleo)
    for one in (world.bob, world.cleo):
        await world.choose(one, pausedUntil=now_ms() + HOUR)
    posted = [await world.post(f"@channel {number}") for number in range(80)]
    await world.hear()
    world.ahead += 5000
    await world.send()
    world.ahead += HOUR
    await world.go()
    for browser in (bob, cleo):
        [push] = browser.payloads
        assert push["body"] == "80 messages while it was quiet, from Admin"
        assert push["messageId"] == posted[-1]
    assert Counter(await world.reasons()) == {("sent", "summary"): 160}


async def test_a_summary_counts_up_to_a_number_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("payload", "queue"):
        monkeypatch.setattr(f"teamchat_web_push.{name}.MOST_SUMMED", 40)
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    for number in range(50):
        await world.post(f"@bob {number}")
    await world.hear()
    await world.send()
    world.ahead += HOUR + 5000
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["40+ messages while it was quiet, from Admin"]
    assert Counter(await world.reasons()) == {("sent", "summary"): 40, ("skipped", "older"): 10}


class Counting:
    """A storage that counts what is asked of it."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self.count = storage, 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Counting]:
        async with self._storage.read() as tx:
            self._tx = tx
            yield self

    async def fetch(self, sql: str, *parameters: Any) -> Any:
        self.count += 1
        return await self._tx.fetch(sql, *parameters)


async def test_what_was_held_for_many_devices_is_read_at_once_device_by_device(world: World) -> None:
    people = [world.bob, world.cleo, world.bob, world.cleo, world.bob]
    devices = [(await world.subscribe(one))[1].id for one in people]
    for one in (world.bob, world.cleo):
        await world.choose(one, pausedUntil=now_ms() + HOUR)
    posted = [await world.post(f"@channel {number}") for number in range(3)]
    await world.hear()
    await world.send()
    world.ahead += HOUR + 5000
    counting = Counting(world.app.storage)
    world.queue._storage = counting  # type: ignore[assignment]
    held = await world.queue.held(world.now(), devices, 100)
    assert counting.count == 1
    for device in devices:
        assert [row.message_id for row in held if row.device.id == device] == posted[::-1]
    # Of those for which it would be too much at a time, none is begun.
    some = await world.queue.held(world.now(), devices, 4)
    assert [len(list(same)) for _, same in groupby(some, key=lambda row: row.device.id)] == [3, 3]


async def test_others_have_their_turns_while_a_message_to_thousands_is_put_into_the_queue(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, checkpoint = Counter[str](), trio.lowlevel.checkpoint

    async def counted() -> None:
        turns["others"] += 1
        await checkpoint()

    message = await world.post("for all")
    async with world.app.storage.read() as tx:
        noticed = await world.queue._notices.noticed(tx, message)
        assert noticed is not None
        wanted = _Wanted(message, message, users=[f"{number:032x}" for number in range(1000)])
        monkeypatch.setattr("teamchat_web_push.queue.trio.lowlevel.checkpoint", counted)
        assert await world.queue._devices(tx, noticed, wanted, world.now()) == []
    assert turns["others"] >= 4


async def test_an_edit_puts_into_the_queue_what_it_may_push_and_nothing_else(world: World) -> None:
    for one in (world.bob, world.cleo):
        await world.subscribe(one)
    await world.choose(world.cleo, defaults={"channel": "all"})
    message = await world.post("look")
    await world.hear()
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob look"))
    await world.hear()
    rows = [(row["user_id"], row["reached"] == message) for row in await world.rows()]
    assert sorted(rows) == sorted([(world.cleo.user.id, True), (world.bob.user.id, False)])


async def test_a_message_that_is_edited_before_its_event_was_heard_is_pushed_as_it_is_then(
    world: World,
) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("@bob at noon")
    await world.app.chat.messages.edit(world.ada, message, Draft("@bob at one"))
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["@bob at one"]


async def test_of_a_burst_in_one_place_one_push_goes_in_two_seconds(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    for number in range(80):
        await world.direct(str(number))
    await world.hear()
    async with trio.open_nursery() as nursery:
        for _ in range(3):  # The first is under way still.
            await world.sender.round(nursery)
    await world.sender.note()
    for count in range(1, 4):
        await world.send()
        assert len(bob.payloads) == count
        world.ahead += 3000
    assert bob.payloads[-1]["body"] == "79"


async def test_a_pause_that_is_ended_lets_go_what_it_held(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, pausedUntil=now_ms() + HOUR)
    await world.post("@bob one")
    await world.go()
    assert bob.payloads == []
    await world.choose(world.bob, pausedUntil=None)
    await world.go()
    assert len(bob.payloads) == 1


async def test_who_is_urgent_comes_through_with_mentions_and_direct_messages_alone(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(
        world.bob,
        pausedUntil=now_ms() + HOUR,
        urgentFrom=[world.ada.user.id],
        defaults={"channel": "all"},
    )
    await world.choose(world.bob, keywords=["deploy"])
    await world.post("nothing urgent")
    for text in ("@channel lunch", "@here tea", "they deploy tomorrow"):
        await world.post(text)
        await world.go()
    world.ahead += 3000
    await world.post("@bob fire")
    await world.post("@bob from somebody else", by=world.cleo)
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["@bob fire"]


@pytest.mark.parametrize(
    ("preview", "title", "body"),
    [
        ("full", "Admin · #General", "@bob the plan"),
        ("sender", "teamchat", "Admin mentioned you in #General"),
        ("none", "teamchat", "New message"),
    ],
)
async def test_a_push_shows_no_more_than_its_reader_wants(
    world: World, preview: str, title: str, body: str
) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.choose(world.bob, preview=preview)
    await world.post("@bob the plan")
    await world.go()
    assert (bob.payloads[0]["title"], bob.payloads[0]["body"]) == (title, body)


async def test_the_servers_maximum_counts_over_what_users_chose(world: World) -> None:
    world.most_shown = "none"
    world.restart()
    bob, _ = await world.subscribe(world.bob)
    await world.post("@bob the plan")
    await world.go()
    assert bob.payloads[0]["body"] == "New message"


async def test_a_device_is_told_in_its_own_language(world: World) -> None:
    bob, _ = await world.subscribe(world.bob, language="de")
    await world.choose(world.bob, preview="sender")
    await world.direct("hallo")
    await world.go()
    assert bob.payloads[0]["body"] == "Admin schrieb dir"


async def test_a_long_message_is_cut_and_fits_also_in_four_byte_characters(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct("😀" * 3000)
    await world.go()
    assert len(bob.payloads[0]["body"]) == 200


async def test_messages_of_one_place_within_two_seconds_are_one_push_of_the_newest(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    await world.direct("one")
    await world.go()
    await world.direct("two")
    three = await world.direct("three")
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["one"]
    world.ahead += 2500
    await world.go()
    assert [one["body"] for one in bob.payloads] == ["one", "three"]
    assert bob.payloads[1]["messageId"] == three
    assert sorted(await world.reasons()) == [("sent", "direct"), ("sent", "direct"), ("sent", "joined")]
    assert bob.received[0].headers["topic"] == bob.received[1].headers["topic"]


async def test_why_says_what_was_decided_and_what_would_be_where_nothing_was(world: World) -> None:
    _, device = await world.subscribe(world.bob)
    notices = world.app.notices
    assert notices is not None

    async def why(message_id: str) -> list[tuple[str, str]]:
        found = await decisions(world.app, notices, world.bob, message_id)
        assert [one.subscription_id for one in found] == [device.id]
        return [(one.outcome, one.reason) for one in found]

    direct, quiet = await world.direct("hello"), await world.post("quiet")
    await world.go()
    assert await why(direct) == [("sent", "direct")]
    assert await why(quiet) == [("none", "level")]
    hidden = await world.private(world.cleo)
    unseen = await world.post("secret", channel=hidden)
    with pytest.raises(NotFound) as of_hidden:
        await why(unseen)
    with pytest.raises(NotFound) as of_nobodys:
        await why("0" * 32)
    assert str(of_hidden.value) == str(of_nobodys.value)


async def test_a_reminder_is_pushed_once(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    message = await world.post("remember")
    await world.read(world.bob, message)
    from teamchat.mentions.activity.events import NewActivity

    async with world.app.storage.write() as tx:
        reached = f"{now_ms():012x}".ljust(32, "f")
        event = NewActivity(reached, "reminder", world.channel, world.bob.user.id, message)
        await tx.append(event.to([world.bob.user.id]))
    await world.go()
    world.heard -= 1  # The event comes again, as after a crash.
    await world.go()
    [push] = bob.payloads
    assert (push["kind"], push["messageId"], push["title"]) == (
        "reminder",
        message,
        "Reminder: Admin · #General",
    )


async def test_an_event_that_is_read_again_pushes_nothing_anew(world: World) -> None:
    bob, _ = await world.subscribe(world.bob)
    before = world.heard
    await world.direct("hello")
    await world.go()
    world.heard = before
    world.restart()
    await world.go()
    assert len(bob.payloads) == 1


async def test_nothing_that_was_said_stands_in_the_tables(world: World) -> None:
    await world.subscribe(world.bob, deviceName="Phone")
    await world.direct("the secret plan")
    await world.hear()
    async with world.app.storage.read() as tx:
        for table in ("web_push_queue", "web_push_subscriptions", "web_push_keys"):
            assert "secret plan" not in str(await tx.fetch(f"select * from {table}"))
