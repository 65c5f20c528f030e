"""MENTION: whom a message mentions, and whom that reaches (extensions, part E, capability mentions).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import (
    make_private,
    make_public,
    of_nobody,
    require_silence,
    with_past,
)
from teamchat_conformance.checks.steps import at, bot_says, message, messages_at
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_ENTITY = dict.fromkeys(("type", "offset", "length", "id"))

area = Area(
    "MENTION",
    "Mentions",
    capability="mentions",
    endpoints=(
        Endpoint("POST", "/channels/:channelId/messages", known={"unreached": None}),
        Endpoint("POST", "/messages/:messageId/thread", known={"unreached": None}),
    ),
    fields=frozenset({"mentions", "entities", "type", "offset", "length", "unreached", "mayMentionAll"}),
)
_RULE = (
    "at an `@` that does not follow a letter, digit or `_`, the longest run that equals, folded, a user's "
    "name"
)
_CHECKED = "in bounds, not overlapping, the text begins with `@` (`#` for channels)"
for _id, _spec, _text, _words in (
    ("MENTION-MAKE-01", "E-3", "The server finds a user's name after an @, in whatever case", _RULE),
    (
        "MENTION-MAKE-02",
        "E-3",
        "Offsets count code points: after an emoji, a family of four and a flag",
        "Offsets count Unicode code points of `content`",
    ),
    (
        "MENTION-MAKE-03",
        "E-3",
        "Code mentions nobody, and neither does what follows a letter",
        "Not inside back-quoted code.",
    ),
    ("MENTION-MAKE-04", "E-3", "With parse false none are made", "`parse`: false to have none made"),
    (
        "MENTION-GIVEN-01",
        "E-2",
        "Given entities are kept as they are, whatever name stands in the text",
        "The name in the text need not match.",
    ),
    (
        "MENTION-GIVEN-02",
        "E-2",
        "Entities that do not fit the text are 400, and so is what nobody sees",
        _CHECKED,
    ),
    (
        "MENTION-GIVEN-03",
        "E-2",
        "An entity that names a channel which the author does not see is 400, as one of nothing",
        "the id is of a\n  user, group or channel the author sees: else 400.",
    ),
    (
        "MENTION-SAME-01",
        "E-1",
        "Everybody reads the same entities, in the answer, the page and the event",
        "The entity holds who is meant",
    ),
    (
        "MENTION-EDIT-01",
        "E-4",
        "An edit keeps the entities whose text still stands",
        "those whose text still stands are kept",
    ),
    (
        "MENTION-REACH-01",
        "E-6",
        "Who is mentioned and does not see it is told nothing, and the author is told who that is",
        "the author's answer has `unreached`: ids",
    ),
    (
        "MENTION-WIDE-01",
        "E-5",
        "@channel and @here are mentions of everybody",
        "`@channel` all members, `@here` those online now.",
    ),
):
    area.required(_id, _spec, _text, words=[_words])
area.required(
    "MENTION-WIDE-02",
    "E-5",
    "@here counts for nobody",
    words=["`@here` notifies but makes no item\n  and no count"],
)
area.required(
    "MENTION-WIDE-03",
    "E-5",
    "@channel in a reply counts for who follows the thread alone",
    words=["In a reply `@channel` means those who follow the thread."],
)
area.required(
    "MENTION-WIDE-04",
    "E-8",
    "What a webhook posts mentions people, and the whole channel only if it may",
    words=["channel-wide only if the webhook has `mayMentionAll`"],
)
area.required(
    "MENTION-WIDE-05",
    "E-5",
    "With ignoreChannelMentions @channel does not count, and one's name does",
    words=["With `ignoreChannelMentions`: no count, no item."],
)
area.required(
    "MENTION-KEY-01",
    "E-7",
    "A keyword counts as a mention, from when it was set, where the level is not nothing",
    words=["they count and notify as mentions, from when they were set", "where the level is not `nothing`"],
)
area.required(
    "MENTION-NAME-01",
    "E-3",
    "Nobody takes a word that means everybody for their name",
    words=["nobody newly takes them, by signing up or by renaming"],
)
area.required(
    "MENTION-REACH-02",
    "E-6",
    "A reply to what somebody does not see who is in the place reaches them no more than one outside",
    words=["those who see the message at that moment"],
)
area.required(
    "MENTION-COUNT-01",
    "D-1",
    "A mention counts where it is unread, and no longer once it is read or deleted",
    words=["that mention the user (E-6) and are unread where they stand"],
)
area.required(
    "MENTION-REACH-03",
    "E-6",
    "The name of who is deactivated, or removed, is text and no mention",
    words=["Removed, deactivated users and bots without sight:\n  text only."],
)
area.required(
    "MENTION-BADGE-01",
    "D-9",
    "In a channel the badge counts what mentions one, and nothing else that is unread",
    words=["mentions elsewhere (top-level, and in threads one does not follow)"],
)
area.required(
    "MENTION-COUNT-02",
    "D-11",
    "A reply of one's own reads what mentions one in its thread, and tells the state of its place",
    words=["replying reads up to one's reply"],
)

_BEFORE = ("", "😀 ", "👩‍👩‍👧‍👦 ", "🇩🇪 ")


def _entity(who: Actor, offset: int, length: int) -> dict[str, Any]:
    return {"type": "user", "offset": offset, "length": length, "id": who.user_id}


async def _say(who: Actor, place: str, content: str, **more: Any) -> dict[str, Any]:
    """Post in a channel, and return the whole answer."""
    answer = await who.post(messages_at(place), {"content": content, **more})
    return dict(answer.ok())


async def _mentions(who: Actor, place: str) -> int:
    state = (await who.get(at("me", "places", place))).ok()["state"]
    return int(state["mentionCount"])


@area.scenario("MENTION-MAKE-01", "MENTION-MAKE-02", "MENTION-MAKE-03", "MENTION-MAKE-04", "MENTION-SAME-01")
async def names_are_found(run: Run) -> None:
    """Mention somebody by their name, after emoji, in code, and without wanting to."""
    place, name = await run.channel(), run.v.user_name
    for before in _BEFORE:
        said = (await _say(run.u, place, f"{before}@{name.upper()}, look"))["message"]
        expected = [_entity(run.v, len(before), len(name) + 1)]
        with run.verdict("MENTION-MAKE-01" if not before else "MENTION-MAKE-02"):
            require(said.get("entities") == expected, f"after {before!r} it is {said.get('entities')}")
            require(said.get("mentions") == [run.v.user_id], f"mentions is {said.get('mentions')}")
    with run.verdict("MENTION-MAKE-03"):
        for text in (f"`@{name}`", f"```\n@{name}\n```", f"a@{name}"):
            said = (await _say(run.u, place, text))["message"]
            require("entities" not in said, "it mentions somebody")
    with run.verdict("MENTION-MAKE-04"):
        said = (await _say(run.u, place, f"@{name}", parse=False))["message"]
        require("entities" not in said, "it mentions somebody")
    with run.verdict("MENTION-SAME-01"):
        async with run.listen(run.w) as observer:
            said = (await _say(run.u, place, f"hello @{name}"))["message"]
            event = await observer.expect("NEW_MESSAGE", id=said["id"])
            shown = await message(run.w, place, said["id"])
            for where, found in (("the event", event.payload), ("the page", shown)):
                same = [found.get(field) == said.get(field) for field in ("entities", "mentions")]
                require(all(same), f"{where} has others than the answer")


@area.scenario("MENTION-GIVEN-01", "MENTION-GIVEN-02", "MENTION-EDIT-01")
async def entities_are_given(run: Run) -> None:
    """Post with entities, good and bad, and edit the text around one."""
    place, text = await run.channel(), "@Somebody, look"
    given = [_entity(run.v, 0, 9)]
    said = (await _say(run.u, place, text, entities=given))["message"]
    with run.verdict("MENTION-GIVEN-01"):
        require(said.get("entities") == given, f"entities are {said.get('entities')}")
    with run.verdict("MENTION-GIVEN-02"):
        for wrong in (
            [_entity(run.v, 0, 100)],
            [_entity(run.v, 1, 3)],
            [_entity(run.v, 0, 9), _entity(run.w, 0, 4)],
            [{**_entity(run.v, 0, 9), "id": "f" * 32}],
            [{**_entity(run.v, 0, 9), "type": "channel", "id": place}],
            [_entity(run.v, 0, 1) for _ in range(101)],
        ):
            (await run.u.post(messages_at(place), {"content": text, "entities": wrong})).error(400)
    with run.verdict("MENTION-EDIT-01"):
        (await run.u.put(at("messages", said["id"]), {"content": f"well, {text}"})).ok()
        edited = await message(run.w, place, said["id"])
        require(edited.get("entities") == [_entity(run.v, 6, 9)], f"they are {edited.get('entities')}")


@area.scenario("MENTION-REACH-01")
async def who_is_outside_is_not_reached(run: Run) -> None:
    """Mention somebody in a private channel that they are not in."""
    channel = await make_private(run, run.u, run.v)
    place = str(channel["id"])
    async with run.listen(run.w) as outsider:
        answer = await _say(run.u, place, f"@{run.w.user_name} @{run.v.user_name}")
        with run.verdict("MENTION-REACH-01"):
            require(answer.get("unreached") == [run.w.user_id], f"unreached is {answer.get('unreached')}")
            require(run.w.user_id in answer["message"].get("mentions", []), "the entity is gone")
            await run.fence(outsider)
            heard = [event.type for event in outsider.events if place in event.data]
            require(not heard, f"they were told {heard}")


@area.scenario("MENTION-REACH-02", "MENTION-GIVEN-03")
async def who_came_later_is_not_reached(run: Run) -> None:
    """Mention somebody in a reply to what was said before they came, and name a channel one does not see."""
    if not run.announced.version("private-channels"):
        return
    made, before = await with_past(run, run.u, run.v)
    with run.verdict("MENTION-REACH-02"):
        async with run.listen(run.v) as late:
            thread = at("messages", before, "thread")
            for more in ({}, {"entities": [_entity(run.v, 0, len(run.v.user_name) + 1)]}):
                answer = (await run.u.post(thread, {"content": f"@{run.v.user_name}", **more})).ok()
                require(answer.get("unreached") == [run.v.user_id], f"unreached is {answer.get('unreached')}")
            require(await _mentions(run.v, str(made["id"])) == 0, "it counts for who does not see it")
            await run.fence(late)
            require_silence(late, before)
    with run.verdict("MENTION-GIVEN-03"):
        target, place = messages_at(await run.channel()), str(made["id"])
        asked = {"type": "channel", "offset": 0, "length": 5}
        said = []
        for one in (place, of_nobody(place)):
            body = {"content": "#here", "entities": [{**asked, "id": one}]}
            answer = (await run.w.post(target, body)).error(400)
            said.append(answer.body.replace(one.encode(), b""))
        require(said[0] == said[1], "a hidden channel is told from none")
        (await run.u.post(target, {"content": "#here", "entities": [{**asked, "id": place}]})).expect(200)


@area.scenario("MENTION-WIDE-01", "MENTION-COUNT-01", "MENTION-BADGE-01")
async def everybody_is_mentioned(run: Run) -> None:
    """Mention all members of a channel, and one of them; read and delete."""
    is_small = run.announced.version("membership")
    place = str((await make_public(run, run.u, run.v))["id"]) if is_small else await run.channel()
    said = (await _say(run.a, place, "@channel and @here"))["message"]
    with run.verdict("MENTION-WIDE-01"):
        found = said.get("mentions", [])
        require(sorted(found) == ["@channel", "@here"], f"mentions is {found}")
    with run.verdict("MENTION-COUNT-01"):
        before = (await run.v.get(at("me", "places"))).ok()["badge"]
        await _say(run.u, place, run.text())
        second = (await _say(run.u, place, f"@{run.v.user_name}"))["message"]["id"]
        after = (await run.v.get(at("me", "places"))).ok()["badge"]
        require(await _mentions(run.v, place) == 2, "two messages do not count as two mentions")
        (await run.u.delete(at("messages", second))).expect(200)
        require(await _mentions(run.v, place) == 1, "a mention that was deleted counts still")
        (await run.v.put(at("me", "places", place, "read"), {"position": said["id"]})).ok()
        require(await _mentions(run.v, place) == 0, "a mention that was read counts still")
        require(await _mentions(run.a, place) == 0, "one's own mention counts")
    with run.verdict("MENTION-BADGE-01"):
        require(
            after - before == 1, f"one of two messages mentions, and the badge changes by {after - before}"
        )


@area.scenario("MENTION-COUNT-02")
async def a_reply_reads_what_mentions_its_author(run: Run) -> None:
    """Mention somebody in a thread, and have them reply there."""
    if not run.announced.version("threads"):
        return
    place = await run.channel()
    parent = str((await run.post(run.v, place))["id"])
    (await run.u.post(at("messages", parent, "thread"), {"content": f"@{run.v.user_name}, look"})).ok()
    with run.verdict("MENTION-COUNT-02"):
        require(await _mentions(run.v, place) == 1, "a reply that mentions them does not count")
        mark = (await run.v.get(at("me", "places"))).ok()["mark"]
        async with run.listen(run.v, query="ephemeral=read") as devices:
            await run.reply(run.v, parent)
            require(await _mentions(run.v, place) == 0, "it counts still")
            changed = (await run.v.get(at("me", "places", since=mark))).ok()["places"]
            require(place in [one["placeId"] for one in changed], "it is not among what has changed")
            event = await devices.expect("READ_STATE", seconds=run.wait(6), placeId=place)
            require(event.payload["mentionCount"] == 0, "the event counts it still")


@area.scenario("MENTION-REACH-03")
async def who_is_gone_is_not_mentioned(run: Run) -> None:
    """Name somebody who was deactivated, and let them in again; name somebody who was removed."""
    who, place = await run.new_user(name="who goes"), await run.channel()
    with run.verdict("MENTION-REACH-03"):
        if run.announced.version("deactivation"):
            (await run.a.post(at("users", who.user_id, "deactivate"))).expect(200)
            said = (await _say(run.u, place, f"@{who.user_name}, look"))["message"]
            require("mentions" not in said, "who is deactivated is mentioned")
            (await run.a.post(at("users", who.user_id, "activate"))).expect(200)
            await run.sign_in.again(who)
            require(await _mentions(who, place) == 0, "it counts for who is back")
        (await run.a.delete(at("users", who.user_id))).expect(200)
        said = (await _say(run.u, place, f"@{who.user_name}, look"))["message"]
        require("mentions" not in said, "who was removed is mentioned")


@area.scenario("MENTION-WIDE-02", "MENTION-WIDE-03", "MENTION-WIDE-04", "MENTION-WIDE-05")
async def who_is_everybody(run: Run) -> None:
    """Mention everybody who is there, who follows a thread, by a webhook, and who would not be."""
    is_small = run.announced.version("membership")
    place = str((await make_public(run, run.u, run.v))["id"]) if is_small else await run.channel()
    with run.verdict("MENTION-WIDE-02"):
        await _say(run.a, place, "@here, look")
        require(await _mentions(run.v, place) == 0, "@here counts")
    with run.verdict("MENTION-WIDE-03"):
        if run.announced.version("threads"):
            parent = str((await run.post(run.u, place))["id"])
            await run.reply(run.u, parent)
            for following in (True, False):
                (await run.v.put(at("me", "threads", parent), {"following": following})).expect(200)
            (await run.a.post(at("messages", parent, "thread"), {"content": "@channel, look"})).expect(200)
            counts = [await _mentions(who, place) for who in (run.u, run.v)]
            require(counts == [1, 0], f"of who follows and who does not it counts {counts}")
    with run.verdict("MENTION-WIDE-04"):
        hook = await run.webhook(place)
        said = (await bot_says(run, hook, f"@channel and @{run.v.user_name}")).ok()["message"]
        require(said.get("mentions") == [run.v.user_id], f"mentions is {said.get('mentions')}")
        require(await _mentions(run.v, place) == 1, "it does not count once")
    with run.verdict("MENTION-WIDE-05"):
        if run.announced.version("notification-levels"):
            target, before = at("me", "places", place, "notifications"), await _mentions(run.v, place)
            (await run.v.put(target, {"ignoreChannelMentions": True})).expect(200)
            await _say(run.a, place, "@channel, look")
            require(await _mentions(run.v, place) == before, "@channel counts")
            await _say(run.a, place, f"@channel and @{run.v.user_name}")
            require(await _mentions(run.v, place) == before + 1, "one's name does not count")


@area.scenario("MENTION-KEY-01", "MENTION-NAME-01")
async def words_that_mention(run: Run) -> None:
    """Say a keyword of somebody before and after they set it, and where nothing is to reach them."""
    who, place = await run.new_user(name="who has a keyword"), await run.channel()
    with run.verdict("MENTION-KEY-01"):
        if run.announced.version("notification-levels"):
            word = f"deploy{run.id}"
            await _say(run.u, place, f"the {word} is done")
            (await who.put("/me/notifications", {"keywords": [word]})).expect(200)
            require(await _mentions(who, place) == 0, "it counts from before it was set")
            said = await _say(run.u, place, f"the {word.upper()} again, and a {word}ment")
            require(await _mentions(who, place) == 1, "it does not count once")
            require("mentions" not in said["message"], "the message tells of a keyword")
            (await who.put(at("me", "places", place, "notifications"), {"level": "nothing"})).expect(200)
            await _say(run.u, place, f"the {word} once more")
            require(await _mentions(who, place) == 1, "it counts where the level is nothing")
    with run.verdict("MENTION-NAME-01"):
        for name in ("channel", "All", "everyone", "here"):
            (await who.put("/users/me", {"userName": name})).error(400)
