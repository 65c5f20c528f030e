"""Who joins a room later learns nothing of what was said there before (extension rules X-2, X-3, B-9).

They are asked for in both ways: by the ids of what was said, as `test_leaks` asks for what is hidden, and by
what a room with a past tells them that a room without one would not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.leaks.asking import ask_everything, told
from tests.leaks.parameters import IMAGE, MESSAGE, ROOM, name_of
from tests.leaks.questions import Ids, questions
from tests.leaks.test_streams import Listener, mark, tells_of
from tests.leaks.things import SAID, Asker, Hidden, asker, fill, own_ids, send, use
from tests.leaks.world import World, open_world

LEAST_ASKED = 500
HISTORY = {"private": {"historyFor": "joiners"}, "group": {}}


async def a_past(world: World, kind: str) -> tuple[Hidden, str]:
    """Return what was said in a room before somebody joined it, and the room."""
    author, later = await world.person("author"), await world.person("later")
    room = await a_room(world, kind)
    base = f"/channels/{room}"
    ids = await fill(author, base)
    thing = Hidden("what was said before", {MESSAGE: ids[MESSAGE], IMAGE: ids[IMAGE]}, author)
    thing.fitting["channelId"] = room
    await use(author, thing, world.site.endpoints)
    await author.client.ok("POST", f"{base}/members", {"userIds": [later.id]})
    one = await asker(world, "who came later", later)
    here = own_ids("channelId", await fill(later, base, "hello"))
    thing.askers = [Asker(one.name, one.client, here, one.conversation)]
    return thing, room


async def a_room(world: World, kind: str) -> str:
    """Make a room that shows those who join later nothing of before."""
    author = (await world.person("author")).client
    if kind == "private":
        body = {"name": "Hidden past", "historyFor": "joiners"}
        return str((await author.ok("POST", "/private-channels", body))["channel"]["id"])
    others = [(await world.person(name)).id for name in ("colleague", "correspondent")]
    return str((await author.ok("POST", "/groups", {"userIds": others}))["channel"]["id"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["private", "group"])
async def test_what_was_said_before_is_answered_as_if_nobody_ever_said_it(tmp_path: Path, kind: str) -> None:
    async with open_world(tmp_path) as world:
        thing, _ = await a_past(world, kind)
        report = await ask_everything(thing, world.site.endpoints)
        assert not report.differences, "\n".join(report.differences[:10])
        assert report.asked >= LEAST_ASKED


async def test_a_room_tells_who_joins_the_same_whether_it_has_a_past_or_none(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        author, later = await world.person("author"), await world.person("later")
        rooms = [await a_room(world, "private") for _ in range(2)]
        await fill(author, f"/channels/{rooms[0]}")
        for room in rooms:
            await author.client.ok("POST", f"/channels/{room}/members", {"userIds": [later.id]})
        asked = 0
        for endpoint in world.site.endpoints:
            if endpoint.method != "GET":
                continue
            pairs = zip(
                *(questions(endpoint, Ids({ROOM: [room]}, {}, {}, {"userId": later.id})) for room in rooms),
                strict=True,
            )
            for with_past, without in pairs:
                swapped = {rooms[0]: rooms[1]}
                answers = [
                    told(await send(later.client, one.hidden), swapped, {author.id, later.id})
                    for one in (with_past, without)
                ]
                assert answers[0] == answers[1], name_of(endpoint)
                asked += answers[0].status == 200
        assert asked >= 5
        states = {one["placeId"]: one for one in (await later.client.ok("GET", "/me/places"))["places"]}
        first, second = (states[room] | {"placeId": ""} for room in rooms)
        assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["private", "group"])
async def test_what_happens_to_messages_of_before_is_told_to_nobody_who_joined_later(
    tmp_path: Path, kind: str
) -> None:
    async with open_world(tmp_path) as world:
        before = await world.position()
        thing, room = await a_past(world, kind)
        author, [later] = thing.reader.client, thing.askers
        first, second = thing.ids[MESSAGE][:2]
        async with Listener(world.site, later.client.token or "", "").open() as stream:
            for message in (first, second):
                await author.ok("PUT", f"/messages/{message}", {"content": f"{SAID}: changed"})
                await author.ok("POST", f"/messages/{message}/reactions", {"reaction": "🎉"})
                await author.ok("POST", f"/messages/{message}/pin")
                await author.ok("DELETE", f"/messages/{message}/pin")
            await author.ok("POST", f"/messages/{first}/thread", {"content": f"{SAID}: late"})
            await author.ok("DELETE", f"/messages/{second}")
            await author.ok("DELETE", f"/messages/{first}")
            await mark(world, "the end")
            live = await stream.until("the end")
        async with Listener(world.site, later.client.token or "", str(before)).open() as stream:
            resumed = await stream.until("the end")
        assert [one["type"] for one in live] == ["CONNECTED"]
        assert any(one["type"] == "NEW_CHANNEL" and one["payload"]["id"] == room for one in resumed)
        assert not [one for one in resumed if tells_of(one, thing)]
