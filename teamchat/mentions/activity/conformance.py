"""ACTIVITY: the feed of what concerns one (extensions E-9 and E-10, capability activity).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import join, make_private, make_public, member_at
from teamchat_conformance.checks.steps import at, messages_at, the_only
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.events import EventType
from teamchat_conformance.expect import optional, require, text
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_ITEM = dict.fromkeys(("id", "kind", "at", "placeId", "message", "actors", "reaction"))
_NEW = {"id": text, "kind": text, "placeId": text, "messageId": optional(text), "actor": text}

area = Area(
    "ACTIVITY",
    "Activity",
    capability="activity",
    endpoints=(
        Endpoint("GET", "/me/activity", known={"items": None, "unreadCount": None, "asOf": None}),
        Endpoint("PUT", "/me/activity/read", fields=(Field("position"),), known={"unreadCount": None}),
    ),
    events=(
        EventType("NEW_ACTIVITY", "NEW", _NEW, "POST /channels/:channelId/messages", area="ACTIVITY"),
        EventType(
            "DELETE_ACTIVITY",
            "DELETE",
            {"messageId": text, "kind": text},
            "PUT /messages/:messageId",
            area="ACTIVITY",
        ),
    ),
    fields=frozenset(_ITEM),
)
_KINDS = (
    "a mention or keyword; a reply in a followed thread; a reaction to my message (one item a message, "
    "grouped); being added to a channel"
)
for _id, _spec, _text, _words in (
    (
        "ACTIVITY-NEW-01",
        "E-10",
        "NEW_ACTIVITY has id, kind, placeId, messageId and actor",
        "Event NEW_ACTIVITY {id, kind, placeId, messageId, actor}",
    ),
    (
        "ACTIVITY-DELETE-01",
        "E-10",
        "DELETE_ACTIVITY has messageId and kind",
        "DELETE_ACTIVITY {messageId, kind}",
    ),
    ("ACTIVITY-KIND-01", "E-9", "A mention is an item, with its message and who wrote it", _KINDS),
    ("ACTIVITY-KIND-02", "E-9", "Replies in a followed thread are items", _KINDS),
    ("ACTIVITY-KIND-03", "E-9", "Reactions to a message are one item, with the newest", _KINDS),
    ("ACTIVITY-KIND-04", "E-9", "Being added to a channel is an item", _KINDS),
    (
        "ACTIVITY-KIND-05",
        "E-9",
        "A reaction that is taken back takes its item along, and one's own makes none",
        "withdrawn reactions take their items along",
    ),
    ("ACTIVITY-KIND-06", "E-9", "Who joins by themself has no item of it", "being added to a channel"),
    ("ACTIVITY-LIST-01", "E-9", "kinds and unread=true narrow it down", "`unread=true` filters"),
    ("ACTIVITY-LIST-02", "E-9", "limit cuts the feed, and before goes on", "limit, before (item id) → items"),
    ("ACTIVITY-TOLD-01", "E-10", "Who is mentioned is told, and nobody else", "to those concerned"),
    (
        "ACTIVITY-EDIT-01",
        "E-4",
        "A mention that is taken away and brought back is told once",
        "once per user and message ever",
    ),
    (
        "ACTIVITY-READ-01",
        "E-9",
        "The feed is read up to an item, and what is read stays read",
        "position (item id)",
    ),
    ("ACTIVITY-READ-02", "D-2", "A position that is no id is 400", "One that is no message id: 400."),
    (
        "ACTIVITY-HIDE-01",
        "E-9",
        "What one does not see any more is not in it",
        "what I no longer see is not there",
    ),
    (
        "ACTIVITY-GONE-01",
        "E-9",
        "A deleted message takes its items along",
        "deleted messages and withdrawn reactions take their items along",
    ),
):
    area.required(_id, _spec, _text, words=[_words])
area.monitor("ACTIVITY-NEW-01", "ACTIVITY-DELETE-01")


async def _feed(who: Actor, **query: object) -> dict[str, Any]:
    return dict((await who.get(at("me", "activity", **query))).ok())


async def _about(who: Actor, message_id: str) -> list[dict[str, Any]]:
    """Return the items of somebody's feed that are about a message."""
    return [one for one in (await _feed(who))["items"] if one.get("message", {}).get("id") == message_id]


async def _say(who: Actor, place: str, content: str) -> str:
    return str((await who.post(messages_at(place), {"content": content})).ok()["message"]["id"])


@area.scenario("ACTIVITY-KIND-01", "ACTIVITY-TOLD-01", "ACTIVITY-EDIT-01", "ACTIVITY-GONE-01")
async def a_mention_is_an_item(run: Run) -> None:
    """Mention somebody, take it back, bring it back, and delete the message."""
    place = await run.channel()
    async with run.listen(run.v) as concerned, run.listen(run.w) as other:
        said = await _say(run.u, place, f"@{run.v.user_name}, look")
        with run.verdict("ACTIVITY-KIND-01"):
            item = the_only(await _about(run.v, said), "items of the mention")
            about = (item["kind"], item["placeId"], item["actors"])
            require(about == ("mention", place, [run.u.user_id]), f"the item is {about}")
        with run.verdict("ACTIVITY-TOLD-01"):
            event = await concerned.expect("NEW_ACTIVITY", messageId=said)
            require(event.payload["id"] == item["id"], "the event has another id than the item")
            await run.fence(other)
            require(not other.since(0, "NEW_ACTIVITY", messageId=said), "somebody else was told")
        with run.verdict("ACTIVITY-EDIT-01"):
            (await run.u.put(at("messages", said), {"content": "nobody"})).ok()
            await concerned.expect("DELETE_ACTIVITY", messageId=said)
            require(not await _about(run.v, said), "the item is there still")
            (await run.u.put(at("messages", said), {"content": f"@{run.v.user_name} again"})).ok()
            await run.fence(concerned)
            require(len(await _about(run.v, said)) == 1, "the item is not back")
            times = len(concerned.since(0, "NEW_ACTIVITY", messageId=said))
            require(times == 1, f"they were told {times} times")
    with run.verdict("ACTIVITY-GONE-01"):
        (await run.u.delete(at("messages", said))).expect(200)
        require(not await _about(run.v, said), "the item has outlived its message")


@area.scenario("ACTIVITY-KIND-02", "ACTIVITY-KIND-03")
async def replies_and_reactions_are_items(run: Run) -> None:
    """Reply to a message, and react to it twice."""
    place = await run.channel()
    said = await _say(run.u, place, "what now?")
    reply = str((await run.reply(run.v, said))["reply"]["id"])
    with run.verdict("ACTIVITY-KIND-02"):
        kinds = [one["kind"] for one in await _about(run.u, reply)]
        require(kinds == ["reply"], f"the reply's items are {kinds}")
    for who, reaction in ((run.v, "👍"), (run.w, "🎉")):
        (await who.post(at("messages", said, "reactions"), {"reaction": reaction})).expect(200)
    with run.verdict("ACTIVITY-KIND-03"):
        found = await _about(run.u, said)
        require([one["kind"] for one in found] == ["reaction"], "two reactions are not one item")
        require(found[0].get("reaction") == "🎉", f"the newest is {found[0].get('reaction')}")
        require(set(found[0]["actors"]) == {run.v.user_id, run.w.user_id}, "actors are others")


@area.scenario("ACTIVITY-KIND-04", "ACTIVITY-HIDE-01")
async def who_is_added_is_told_and_who_is_removed_has_nothing(run: Run) -> None:
    """Make a private channel with somebody, mention them there, and remove them."""
    channel = await make_private(run, run.u, run.v)
    place = str(channel["id"])
    with run.verdict("ACTIVITY-KIND-04"):
        kinds = [one["kind"] for one in (await _feed(run.v))["items"] if one["placeId"] == place]
        require(kinds == ["added"], f"of the channel there are {kinds}")
    await _say(run.u, place, f"@{run.v.user_name}")
    (await run.u.delete(member_at(channel, run.v))).expect(200)
    with run.verdict("ACTIVITY-HIDE-01"):
        left = [one["kind"] for one in (await _feed(run.v))["items"] if one["placeId"] == place]
        require(not left, f"of a channel that they do not see there are {left}")


@area.scenario("ACTIVITY-KIND-05", "ACTIVITY-KIND-06", "ACTIVITY-LIST-01", "ACTIVITY-LIST-02")
async def what_is_an_item_and_what_not(run: Run) -> None:
    """React as others and oneself, take it back, join a channel, and read parts of the feed."""
    who, place = await run.new_user(name="who has a feed"), await run.channel()
    said = await _say(who, place, "what now?")
    reactions = at("messages", said, "reactions")
    with run.verdict("ACTIVITY-KIND-05"):
        (await who.post(reactions, {"reaction": "own"})).expect(200)
        require(not await _about(who, said), "one's own reaction is an item")
        async with run.listen(who) as own:
            (await run.v.post(reactions, {"reaction": "ok"})).expect(200)
            require(len(await _about(who, said)) == 1, "a reaction is no item")
            (await run.v.delete(reactions, {"reaction": "ok"})).expect(200)
            require(not await _about(who, said), "the item has outlived the reaction")
            await own.expect("DELETE_ACTIVITY", messageId=said)
    with run.verdict("ACTIVITY-KIND-06"):
        if run.announced.version("membership"):
            made = await make_public(run)
            await join(who, made)
            added = [one["placeId"] for one in (await _feed(who))["items"] if one["kind"] == "added"]
            require(made["id"] not in added, "who has joined by themself has an item of it")
    await run.reply(run.v, said)
    mention = await _say(run.u, place, f"@{who.user_name}, look")
    items = (await _feed(who))["items"]
    with run.verdict("ACTIVITY-LIST-01"):
        require(
            [one["kind"] for one in items] == ["mention", "reply"], "they are others, or in another order"
        )
        for kind, one in zip(("mention", "reply"), items, strict=True):
            found = (await _feed(who, kinds=kind))["items"]
            require([one["id"]] == [each["id"] for each in found], f"kinds={kind} finds others")
        (await who.put("/me/activity/read", {"position": items[1]["id"]})).expect(200)
        unread = (await _feed(who, unread="true"))["items"]
        require([one["message"]["id"] for one in unread] == [mention], "unread=true finds what was read")
    with run.verdict("ACTIVITY-LIST-02"):
        first = (await _feed(who, limit=1))["items"]
        second = (await _feed(who, limit=1, before=items[0]["id"]))["items"]
        require(
            [one["id"] for one in (*first, *second)] == [one["id"] for one in items], "pages are not the feed"
        )


@area.scenario("ACTIVITY-READ-01", "ACTIVITY-READ-02")
async def the_feed_is_read(run: Run) -> None:
    """Read one of two mentions, then the other."""
    place, name = await run.channel(), run.w.user_name
    first, second = [await _say(run.u, place, f"@{name} {number}") for number in range(2)]
    with run.verdict("ACTIVITY-READ-01"):
        one, two = [the_only(await _about(run.w, said), "items of a mention") for said in (first, second)]
        left = (await run.w.put("/me/activity/read", {"position": one["id"]})).ok()["unreadCount"]
        require(left == 1, f"after the first of two, {left} are unread")
        left = (await run.w.put("/me/activity/read", {"position": two["id"]})).ok()["unreadCount"]
        require(left == 0, f"after both, {left} are unread")
        await run.w.put("/me/activity/read", {"position": one["id"]})
        require((await _feed(run.w))["unreadCount"] == 0, "it has moved back")
    with run.verdict("ACTIVITY-READ-02"):
        for wrong in ("", "no id"):
            (await run.w.put("/me/activity/read", {"position": wrong})).error(400)
