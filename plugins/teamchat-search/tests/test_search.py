"""F-1 to F-7 on the storage that the tests run on: with everything in the index, nothing, and in between."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest
import trio
from msgspec import UNSET
from teamchat_search import search as search_module
from teamchat_search.asking import Request
from teamchat_search.grammar import parsed
from teamchat_search.index import Reach, base, postgres
from teamchat_search.limits import Limits
from teamchat_search.matching import holds
from teamchat_search.names import Names
from teamchat_search.normal import normal

from teamchat import BadRequest, Forbidden, TooManyRequests
from teamchat.accounts import Account
from teamchat.chat import MessageEdit
from teamchat.chat.privacy import PrivacyChange
from teamchat.chat.retention import Retention
from teamchat.events import Resync
from teamchat.model import Caller, ids

_world = import_module("plugins.teamchat-search.tests.world")
World, opened = _world.World, _world.opened


SENTENCES = [
    "The quick brown fox jumps over the lazy dog",
    "Die Straße ist gesperrt, große Fußgänger",
    "STRASSE und GROSSE",
    "Η Αθήνα είναι όμορφη",
    "ΑΘΗΝΑ ΚΑΙ ΠΑΤΡΑ",
    "İstanbul'da güneşli, ılık",
    "Съешь ещё этих мягких французских булок",
    "Ёлка и йод",
    "我去上海玩，北京也不错",
    "東京タワーは高いです",
    "カタカナとひらがな",
    "안녕하세요 여러분 한국어",
    "สวัสดีครับ ภาษาไทย",
    "مرحبا بالعالم العربي",
    "שלום עולם טוב",
    "नमस्ते दुनिया हिन्दी",
    "বাংলা ভাষা সুন্দর",
    "தமிழ் மொழி இனிது",
    "Բարեւ աշխարհ",
    "გამარჯობა მსოფლიო",
    "አማርኛ ቋንቋ",
    "see db.json and C++ in foo_bar, t-shirt https://example.org/a?b=c",
    "QA: Go PR it, 👍🏽 done ☃",
    "naïve café Ångström ﬁle ½",
    "a b c 12 x",
]


async def fill(world: World, seed: int, count: int) -> dict[str, str]:
    """Say generated sentences; return them by their ids."""
    chance = random.Random(seed)
    said: dict[str, str] = {}
    for _ in range(count):
        words = " ".join(chance.choice(SENTENCES) for _ in range(2)).split(" ")
        chance.shuffle(words)
        text = " ".join(words[: chance.randint(2, 9)])
        said[await world.say(text)] = text
    return said


def queries(chance: random.Random, texts: list[str], count: int) -> list[str]:
    """Cut queries out of texts, and mix them."""
    found = []
    for _ in range(count):
        parts = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            text = chance.choice(texts)
            start = chance.randrange(len(text))
            part = text[start : start + chance.randint(1, 7)].replace('"', "").strip()
            part = f'"{part}"' if chance.random() < 0.3 else part
            parts.append(("-" if chance.random() < 0.2 else "") + part)
        query = " ".join(parts)
        if parsed(query) and not any(item.name for item in parsed(query)):
            found.append(query)
    return found


def brute_force(said: dict[str, str], query: str) -> list[str]:
    """Return the ids of what matches, newest first, as the definition alone says."""
    items = parsed(query)

    def matches(text: str) -> bool:
        return all(holds(normal(text), normal(item.text)) != item.is_excluded for item in items)

    return sorted((id_ for id_, text in said.items() if matches(text)), reverse=True)


@pytest.mark.parametrize(
    "indexed", ["half", *(pytest.param(one, marks=pytest.mark.slow) for one in ("nothing", "everything"))]
)
async def test_f1_f7_generated_queries_find_what_the_definition_says(tmp_path: Path, indexed: str) -> None:
    async with opened(tmp_path) as world:
        world.search._limits = Limits(100_000)
        said = await fill(world, 1, 120)
        if indexed != "nothing":
            await world.indexing.catch_up()
        if indexed != "everything":
            said |= await fill(world, 2, 60)
        chance = random.Random(3)
        found = 0
        for query in queries(chance, list(said.values()), 250):
            expected = brute_force(said, query)
            assert await world.find(query) == expected, query
            found += bool(expected)
        assert found > 100


async def test_f4_pages_of_any_size_make_up_the_whole(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        said = await fill(world, 5, 150)
        await world.indexing.catch_up()
        said |= await fill(world, 6, 20)
        everything = await world.find("-thiswasneversaid")
        assert everything == sorted(said, reverse=True)
        for limit in (1, 7, 64):
            found, cursor = [], None
            while True:
                page = await world.results("-thiswasneversaid", limit=limit, cursor=cursor)
                assert page.is_complete
                assert len(page.hits) <= limit
                found += [hit.message.id for hit in page.hits]
                if (cursor := page.next) is None:
                    break
            assert found == everything


async def test_what_was_just_said_is_found_and_what_was_erased_or_edited_is_not(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        first, second = await world.say("alpha needle"), await world.say("beta needle")
        for is_indexed in (False, True):
            if is_indexed:
                await world.indexing.catch_up()
            assert await world.find("needle") == [second, first]
        await world.app.chat.messages.edit(world.ada, second, MessageEdit("beta thread"))
        assert await world.find("needle") == [first]
        assert await world.find("thread") == [second]
        await world.indexing.catch_up()
        assert await world.find("needle") == [first]
        assert await world.find("thread") == [second]
        await world.app.chat.messages.delete(world.ada, first)
        assert await world.find("needle") == []
        await world.indexing.catch_up()
        assert await world.find("needle") == []
        assert await world.find("beta") == [second]


async def test_a_reply_is_found_and_goes_with_its_thread_and_with_its_channel(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        channel = await world.public("Room")
        parent = await world.say("parent needle", channel)
        reply = await world.reply("reply needle", parent, world.bob)
        await world.indexing.catch_up()
        assert await world.find("needle") == [reply, parent]
        assert await world.find("is:thread needle") == [reply, parent]
        assert await world.find("has:thread needle") == [parent]
        await world.app.chat.messages.delete(world.ada, parent)
        assert await world.find("needle") == []
        other = await world.say("needle again", channel)
        await world.indexing.catch_up()
        assert await world.find("needle") == [other]
        await world.app.chat.channels.delete(world.ada, channel)
        assert await world.find("needle") == []
        await world.indexing.catch_up()
        assert await left(world) == 0


async def left(world: World) -> int:
    """Return how many documents the index has."""
    async with world.app.storage.read() as tx:
        if world.app.storage.dialect == "sqlite":
            rows = await tx.fetch("select id from search_grams_docsize")
            assert not await tx.fetch("select 1 from search_erased")
            return len(rows)
        return len(await tx.fetch("select 1 from search_documents"))


async def test_retention_takes_messages_out_of_the_index(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await fill(world, 9, 30)
        await world.indexing.catch_up()
        assert await left(world) == 30
        await Retention(world.app.storage, -1, world.app.capabilities).sweep()
        assert await world.find("-never") == []
        await world.indexing.catch_up()
        assert await left(world) == 0


async def test_x2_nobody_finds_what_they_do_not_see(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        secret = await world.private("Secret", world.bob)
        conversation = await world.conversation(world.ada, world.bob)
        message = await world.say("needle one", secret)
        reply = await world.reply("needle two", message, world.bob)
        direct = await world.say("needle three", conversation)
        for is_indexed in (False, True):
            if is_indexed:
                await world.indexing.catch_up()
            assert await world.find("needle", world.ada) == [direct, reply, message]
            assert await world.find("needle", world.bob) == [direct, reply, message]
            assert await world.find("needle", world.eve) == []
            assert await world.find("needle", world.eve, channel_id=secret) == []
            assert await world.find("needle in:#Secret", world.bob) == [reply, message]
            assert await world.find("needle in:#Secret", world.eve) == []
            assert await world.find(f"needle in:{secret}", world.eve) == []
            assert await world.find("needle in:dm", world.bob) == [direct]
            with pytest.raises(Forbidden):
                await world.find("needle", world.eve, conversation_id=conversation)
        await world.app.chat.members.remove(world.ada, secret, world.bob.user.id)
        assert await world.find("needle", world.bob) == [direct]


async def test_x2_who_was_let_in_late_finds_nothing_of_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        from teamchat.chat.channel_drafts import NewPrivateChannel

        made = NewPrivateChannel("Late", history_for="joiners")
        room = (await world.app.chat.channels.create(world.ada, made)).id
        before = await world.say("needle before", room)
        await world.app.chat.members.add(world.ada, room, [world.bob.user.id])
        after = await world.say("needle after", room)
        late = await world.reply("needle reply", before)
        for _ in range(2):
            assert await world.find("needle", world.bob) == [after]
            assert await world.find("needle", world.ada) == [late, after, before]
            await world.indexing.catch_up()


@pytest.mark.parametrize("history", ["show", "hide"])
async def test_a_channel_made_private_and_public_is_found_by_who_sees_it_at_every_moment(
    tmp_path: Path, history: str
) -> None:
    async with opened(tmp_path) as world:
        room = await world.public("Turning")
        old = await world.say("needle old", room)
        await world.indexing.catch_up()
        assert await world.find("needle", world.eve) == [old]
        privacy = world.app.chat.privacy
        await privacy.change(world.ada, room, PrivacyChange(True, members=[world.bob.user.id]))
        inside = await world.say("needle inside", room)
        for _ in range(2):
            assert await world.find("needle", world.eve) == []
            assert await world.find("needle", world.bob) == [inside, old]
            await world.indexing.catch_up()
        await privacy.change(world.ada, room, PrivacyChange(False, history=history))
        new = await world.say("needle new", room)
        seen = [new] if history == "hide" else [new, inside, old]
        for _ in range(2):
            assert await world.find("needle", world.eve) == seen
            assert await world.find("needle", world.bob) == [new, inside, old]
            await world.indexing.catch_up()
        async with world.app.storage.read() as tx:
            assert not await tx.fetch("select 1 from search_moving")


async def test_f2_operators(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        other = await world.public("Two Words")
        bob = world.bob.user.user_name
        one = await world.say("needle https://example.org")
        two = await world.say("needle two", other, world.bob)
        await world.app.chat.reactions.add(world.eve, one, "👍")
        await world.indexing.catch_up()
        assert await world.find("needle from:me") == [one]
        assert await world.find(f'needle from:"@{bob}"') == [two]
        assert await world.find(f"needle from:{world.bob.user.id}") == [two]
        assert await world.find(f"from:me from:{world.bob.user.id}") == [two, one]
        assert await world.find("needle -from:me") == [two]
        assert await world.find('in:"#two words"') == [two]
        assert await world.find('needle -in:"#Two Words"') == [one]
        assert await world.find(f"in:{other} needle") == [two]
        assert await world.find("has:link") == [one]
        assert await world.find("has:reaction") == [one]
        assert await world.find("needle -has:reaction") == [two]
        assert await world.find("has:image") == []
        assert await world.find("has:link has:reaction -has:image") == [one]
        assert await world.find("https://example.org") == [one]
        assert await world.find("needle after:2020-01-01 before:2100-01-01") == [two, one]
        assert await world.find("needle before:2020-01-01") == []
        assert await world.find("needle -before:2020-01-01") == [two, one]
        assert await world.find("needle", author_id=world.ada.user.id) == [one]
        assert await world.find("needle", channel_id=other) == [two]
        assert await world.find("needle", channel_id="0" * 32) == []
        assert await world.find("needle", until=1000) == []
        assert await world.find("needle", since=1000) == [two, one]


async def test_f2_what_names_nothing_is_a_term(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        secret = await world.private("Hidden")
        said = [
            await world.say(text)
            for text in (
                "in:#Hidden x",
                "in:#Nowhere x",
                "from:@nobody-here",
                "has:wings",
                "on:2026-13-45",
                "is:pinned",
            )
        ]
        assert await world.find("in:#Hidden", world.eve) == [said[0]]
        assert await world.find("in:#Nowhere", world.eve) == [said[1]]
        assert await world.find(f"in:{secret}", world.eve) == []
        assert await world.find("from:@nobody-here") == [said[2]]
        assert await world.find("has:wings") == [said[3]]
        assert await world.find("on:2026-13-45") == [said[4]]
        assert await world.find("is:pinned") == [said[5]]
        assert await world.find("in:#Hidden", world.ada) == []


async def test_f2_days_are_those_of_the_time_zone(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.say("needle")
        today = datetime.now(UTC).replace(hour=13, minute=33)
        async with world.app.storage.write() as tx:
            await tx.fetch("update messages set created_at = $1", int(today.timestamp() * 1000))
        yesterday, day, tomorrow = [str((today + timedelta(days)).date()) for days in (-1, 0, 1)]

        async def found(query: str, zone: str | None = None) -> bool:
            return await world.find(query, zone=zone) == [message]

        assert await found(f"on:{day}")
        assert not await found(f"before:{day}")
        assert not await found(f"after:{day}")
        assert await found(f"before:{tomorrow} after:{yesterday}")
        assert await found(f"on:{tomorrow}", "Pacific/Kiritimati")
        assert not await found(f"on:{day}", "Pacific/Kiritimati")
        assert await found(f"on:{yesterday} on:{day}")
        assert not await found(f"-on:{day}")
        with pytest.raises(BadRequest):
            await found(f"on:{day}", "Middle/Earth")


DAYS = [
    # A day of 23 hours and one of 25, one that has no midnight, and one that has two.
    ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", 23),
    ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", 25),
    ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00", 23),
    ("America/Havana", "2026-11-01", "2026-11-01T04:00", 25),
    ("Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15", 24),
]


@pytest.mark.parametrize(("zone", "day", "begin", "hours"), DAYS)
async def test_f2_a_day_runs_from_its_midnight_to_the_next_wherever_clocks_are_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, day: str, begin: str, hours: int
) -> None:
    async with opened(tmp_path) as world:
        first = int(datetime.fromisoformat(f"{begin}:00+00:00").timestamp() * 1000)
        times = [first - 1, first, first + hours * 3_600_000 - 1, first + hours * 3_600_000]
        said = []
        monkeypatch.setattr(ids, "_last", 0)
        for at in times:
            monkeypatch.setattr(time, "time_ns", lambda at=at: at * 1_000_000)
            said.append(await world.say("needle"))
        monkeypatch.undo()
        for _ in range(2):
            assert await world.find(f"on:{day}", zone=zone) == [said[2], said[1]]
            assert await world.find(f"needle before:{day}", zone=zone) == [said[0]]
            assert await world.find(f"needle after:{day}", zone=zone) == [said[3]]
            assert await world.find(f"needle -on:{day}", zone=zone) == [said[3], said[0]]
            await world.indexing.catch_up()


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize("days", [-30, 3, 400])
async def test_f2_a_message_is_of_the_day_it_was_posted_on_whatever_its_id_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, *, is_indexed: bool
) -> None:
    """A process goes on with ids of a clock that was ahead; others are brought in by an import."""
    async with opened(tmp_path) as world:
        now = time.time_ns() // 1_000_000
        places = [await world.public(f"Channel {number}") for number in range(3)]
        said = []
        for number, place in enumerate(places):
            begin = now + (days * 24 + number) * 3_600_000
            monkeypatch.setattr(ids, "_last", 0)
            monkeypatch.setattr(time, "time_ns", lambda begin=begin: begin * 1_000_000)
            monkeypatch.setattr("teamchat.chat.posting.now_ms", lambda: now)
            said.append(await world.say("needle adrift", place))
            monkeypatch.undo()
            if is_indexed and number == 0:
                await world.indexing.catch_up()
            elif is_indexed and number == 1:  # By its event, where the first was found among the messages.
                await world.indexing.step()
        other = await world.say("needle")
        day = datetime.fromtimestamp(now / 1000, UTC).date()
        all_of_them = sorted([*said, other], reverse=True)
        week, later = day - timedelta(7), day + timedelta(7)
        for _ in range(2):
            assert await world.find(f"on:{day}") == all_of_them
            assert await world.find(f"needle after:{week} before:{later}") == all_of_them
            assert await world.find(f"needle before:{later}") == all_of_them
            assert await world.find(f"needle after:{week}") == all_of_them
            assert await world.find(f"needle after:{later}") == []
            assert await world.find(f"needle before:{week}") == []
            await world.indexing.catch_up()
        await world.app.chat.messages.delete(world.ada, said[0])
        assert await world.find(f"on:{day}") == [one for one in all_of_them if one != said[0]]


@pytest.mark.parametrize("step", [-23 * 3_600_000, -60_000, 400 * 24 * 3_600_000])
async def test_f2_f3_what_was_said_after_the_clock_was_set_is_found_newest_first_and_by_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """It was set back by less than a day, which ids bridge, or ahead by a year."""
    async with opened(tmp_path) as world:
        before = await world.say("needle before")
        await world.indexing.catch_up()
        wall = time.time_ns() // 1_000_000 + step
        monkeypatch.setattr(ids, "_last", ids._last)  # What comes after this test is not a year ahead.
        monkeypatch.setattr(time, "time_ns", lambda: wall * 1_000_000)
        after = await world.say("needle after")
        day = datetime.fromtimestamp(wall / 1000, UTC).date()
        for _ in range(2):
            assert await world.find("needle") == [after, before]
            assert await world.find(f'"needle after" on:{day}') == [after]
            assert await world.find(f'"needle after" -before:{day} -after:{day}') == [after]
            await world.indexing.catch_up()
        monkeypatch.undo()


async def test_f4_relevance(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        whole, beginning, inside = [
            await world.say(text) for text in ("the data", "a database", "old metadata")
        ]
        again = await world.say("new metadata")
        for _ in range(2):
            found = await world.search.relevance(world.ada, Request(query="data"), 50)
            assert [hit.message.id for hit in found.hits] == [whole, beginning, again, inside]
            assert (found.next, found.is_complete) == (None, True)
            await world.indexing.catch_up()


async def test_f5_time_is_bounded_and_the_cursor_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as world:
        said = await fill(world, 11, 60)
        monkeypatch.setattr(search_module, "WORK_SECONDS", 0.0)
        nothing = await world.results("-never")
        assert (nothing.hits, nothing.is_complete) == ([], False)
        assert nothing.next is not None
        monkeypatch.setattr(search_module, "WORK_SECONDS", 2.0)
        assert len((await world.results("-never", cursor=nothing.next)).hits) == len(said)


async def test_f5_two_at_a_time_and_so_many_a_minute(autojump_clock: trio.testing.MockClock) -> None:
    limits = Limits(3)
    with limits.taken("ada"), limits.taken("ada"):
        with pytest.raises(TooManyRequests), limits.taken("ada"):
            pass
        with limits.taken("bob"):
            pass
    with pytest.raises(TooManyRequests) as refused, limits.taken("ada"):
        pass
    assert 0 < (refused.value.retry_after or 0) <= 61
    await trio.sleep(60)
    with limits.taken("ada"):
        pass


async def test_a_hard_query_is_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        said = await world.say("a" * 4000)
        await world.indexing.catch_up()
        assert await world.find("a" * 500) == [said]
        assert await world.find("a" * 499 + "b") == []
        for query in (
            '"' * 500,
            "-" * 500,
            "a " * 250,
            "from:" * 100,
            "\u0301" * 500,
            "*" * 9,
            "AND OR NOT (",
            "%_'",
        ):
            await world.results(query)


async def test_what_was_imported_is_found_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.say("needle")
        await world.indexing.catch_up()
        async with world.app.storage.write() as tx:
            await tx.fetch("update messages set content = 'imported straw' where id = $1", message)
            await tx.fetch("delete from search_documents where message_id = $1", message)
            await tx.append(Resync().to())
        for _ in range(2):
            assert await world.find("straw") == [message]
            await world.indexing.catch_up()


async def test_an_index_that_missed_events_or_is_of_another_version_is_made_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.say("needle one")
        await world.indexing.catch_up()
        lost = await world.say("needle two")
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from events")
        assert (await world.find("needle"))[0] == lost
        await world.indexing.catch_up()
        assert (await world.find("needle"))[0] == lost
        async with world.app.storage.write() as tx:
            await tx.fetch("update search_state set made_by = 'before'")
        assert (await world.find("needle"))[0] == lost
        await world.indexing.catch_up()
        assert await left(world) == 2


async def test_highlights_and_places(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.say("Die Straße")
        conversation = await world.conversation(world.ada, world.bob)
        await world.say("strasse", conversation)
        direct, channel = (await world.results("STRASSE")).hits
        assert (direct.place.kind, direct.place.name, direct.place.id) == ("direct", None, conversation)
        assert (channel.place.kind, channel.place.name) == ("channel", "General")
        assert [tuple(one) for one in channel.highlights] == [("content", 4, 6)]


async def test_an_archived_channel_is_searched(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        room = await world.public("Old")
        message = await world.say("needle", room)
        await world.app.chat.channels.archive(world.ada, room, is_archived=True)
        assert await world.find("needle", world.eve) == [message]


async def test_l3_who_is_deactivated_is_found_as_one_who_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        names, secret = Names(world.app), await world.private("Quiet", world.bob)
        [bob] = await names.people(world.ada, "bob", None)
        assert bob.is_deactivated is UNSET
        account = Account(world.bob.user, is_deactivated=False)
        async with world.app.storage.write() as tx:
            await world.app.accounts.users.deactivate_in(tx, account)
        [bob] = await names.people(world.ada, "bob", None)
        assert bob.is_deactivated is True
        assert await names.people(world.ada, "bob", secret) == [], "who is to be mentioned hears of it"


async def test_people_and_channels_are_found_by_their_names(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        names = Names(world.app)
        rename = world.app.accounts.users.rename
        await rename(world.bob, "Zoë Quinn")
        await rename(world.eve, "Dinquist")

        async def people(query: str, place: str | None = None) -> list[str]:
            return [one.user_name for one in await names.people(world.ada, query, place)]

        assert await people("quin") == ["Zoë Quinn"]
        assert await people("ZOE") == ["Zoë Quinn"]
        assert await people("qui") == ["Zoë Quinn", "Dinquist"]
        secret = await world.private("Quiet", world.bob)
        assert await people("qui", secret) == ["Zoë Quinn"]
        assert await names.people(world.eve, "qui", secret) == []
        conversation = await world.conversation(world.ada, world.bob)
        assert await people("qui", conversation) == ["Zoë Quinn"]
        with pytest.raises(Forbidden):
            await names.people(world.eve, "", conversation)
        assert len(await people("")) == 3
        await world.public("Über Quality")

        async def channels(query: str, by: Caller) -> list[str]:
            return [one.name for one in await names.channels(by, query)]

        assert await channels("qu", world.ada) == ["Quiet", "Über Quality"]
        assert await channels("qu", world.eve) == ["Über Quality"]
        assert await channels("uber", world.eve) == ["Über Quality"]
        with pytest.raises(BadRequest):
            await channels("x" * 65, world.ada)


@pytest.mark.parametrize("common", [64, 1], ids=["one by one", "by the index"])
async def test_small_pages_and_windows_find_the_same_in_public_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, common: int
) -> None:
    async with opened(tmp_path) as world:
        world.search._limits = Limits(100_000)
        rooms = [world.general, await world.private("One"), await world.private("Two", world.bob)]
        chance = random.Random(4)
        said = [
            (await world.say(f"needle {number}", room), room)
            for number in range(90)
            for room in [chance.choice(rooms)]
        ]
        await world.indexing.catch_up()
        kind = type(world.index)
        monkeypatch.setattr(kind, "first", Reach(5, 4))
        monkeypatch.setattr(base, "_MOST_PAGE", 8)
        monkeypatch.setattr(base, "_MOST_WINDOW", 10)
        monkeypatch.setattr(postgres, "_MOST_OF_ALL", 8)
        monkeypatch.setattr(postgres, "_COMMON", common)
        if kind.most_classes is not None:
            monkeypatch.setattr(kind, "most_classes", 1)
        for caller, seen in ((world.ada, rooms), (world.bob, [rooms[0], rooms[2]]), (world.eve, rooms[:1])):
            expected = sorted((id_ for id_, room in said if room in seen), reverse=True)
            assert await world.find("needle", caller) == expected
