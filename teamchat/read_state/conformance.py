"""READ: how far one has read, on all one's devices (extensions, part D, capability read-state).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import make_private, make_public, of, with_past
from teamchat_conformance.checks.steps import at, unknown
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.events import EventType
from teamchat_conformance.expect import array, boolean, integer, optional, require, text
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

STATE: dict[str, Any] = {
    "placeId": text,
    "kind": text,
    "position": text,
    "generation": integer,
    "isMarkedUnread": boolean,
    "unreadCount": integer,
    "mentionCount": integer,
    "lastMessageId": optional(text),
    "level": text,
    "isMuted": boolean,
    "mutedUntil": optional(integer),
}
KNOWN = {**dict.fromkeys(STATE), "ignoreChannelMentions": None}
_ONE = "/me/places/:placeId"

area = Area(
    "READ",
    "Read state",
    capability="read-state",
    endpoints=(
        Endpoint(
            "GET",
            "/me/places",
            known={
                "places": KNOWN,
                "left": None,
                "threads": {"unreadThreads": None, "mentionCount": None},
                **dict.fromkeys(("badge", "mark", "asOf")),
            },
        ),
        Endpoint("GET", _ONE, known={"state": KNOWN, "asOf": None}),
        Endpoint("PUT", f"{_ONE}/read", fields=(Field("position"),), known={"state": KNOWN, "changed": None}),
        Endpoint("PUT", f"{_ONE}/unread", fields=(Field("from"),), known={"state": KNOWN}),
        Endpoint("PUT", "/me/read", known={"changed": None}),
    ),
    events=(
        EventType(
            "READ_STATE",
            "STATE",
            {**STATE, "asOf": text},
            f"PUT {_ONE}/read",
            also={"ignoreChannelMentions"},
            area="READ",
        ),
    ),
    fields=frozenset({"authorId"}),
)
_LIST = "ReadState of every place one is a member of, archived ones left out"
_COUNT = (
    "top-level messages of the place that are there, are visible to the user, have an id greater than "
    "`position` and another author"
)
_EVENT = "| READ_STATE | a ReadState, asOf | no (X-8, `read`) |"
for _id, _spec, _text, _words in (
    ("READ-STATE-01", "D", "READ_STATE holds a ReadState and asOf", _EVENT),
    ("READ-LIST-01", "D", "GET /me/places lists the places one is a member of, each with its state", _LIST),
    ("READ-LIST-02", "D", "An archived place is left out, and is back when it is opened again", _LIST),
    (
        "READ-COUNT-01",
        "D-1, D-5",
        "Messages of others after the position are unread, one's own never",
        _COUNT,
    ),
    (
        "READ-COUNT-02",
        "D-8",
        "Replies count in no place",
        "Replies never count in their place's `unreadCount`",
    ),
    ("READ-COUNT-03", "D-1", "What is deleted is unread no longer", _COUNT),
    (
        "READ-COUNT-04",
        "D-5",
        "What webhooks post counts as others' messages",
        "Webhooks' and bots' posts count as others'",
    ),
    (
        "READ-COUNT-05",
        "D-1",
        "countedUpTo is announced",
        "Both are exact up to the limit `countedUpTo`",
    ),
    ("READ-COUNT-06", "B-6", "In an archived place nothing is unread", "It has no unread counts."),
    (
        "READ-JOIN-03",
        "D-4",
        "Who comes to the server has read what was said in a default channel before",
        "(for default channels: was created, or this capability\n  began)",
    ),
    ("READ-ALL-02", "D", "More than 1,000 positions are 400", "object place id → message id (≤ 1,000)"),
    (
        "READ-HIDE-02",
        "D-1",
        "What was said before one came is no unread message, though it is marked, nor the last one",
        "are visible to the user, have an id greater than",
    ),
    (
        "READ-BADGE-01",
        "D-9",
        "What is unread in a direct conversation is in the badge",
        "`badge` = Σ of unread in direct and groups",
    ),
    (
        "READ-BADGE-02",
        "D-9",
        "What is unread in a group is in the badge",
        "`badge` = Σ of unread in direct and groups",
    ),
    ("READ-SET-01", "D-2", "A position that is no message id is 400", "One that is no message id: 400."),
    (
        "READ-SET-02",
        "D-2",
        "A position after the newest message is taken as that",
        "One after the newest visible message is taken as that",
    ),
    (
        "READ-SET-03",
        "D-3",
        "Reading never moves back within a generation",
        "`read` never moves back within a generation",
    ),
    ("READ-SET-04", "D-2", "A position outlives its message", "its message may be deleted"),
    (
        "READ-SET-05",
        "D-10",
        "Reading what was read changes nothing and is told nobody",
        "`PUT` with the value it has changes nothing and sends nothing.",
    ),
    (
        "READ-MARK-01",
        "D-3",
        "Marking as unread sets the position before the message, in a new generation",
        "`unread` sets the position before `from` and increments the generation",
    ),
    (
        "READ-MARK-02",
        "D-3",
        "A read that names an older generation changes nothing",
        "A `read` that names an older generation changes nothing",
    ),
    (
        "READ-MARK-03",
        "D-3",
        "The next read clears isMarkedUnread, at the same position too",
        "which clears it (`changed: true`) even at the same position",
    ),
    (
        "READ-JOIN-01",
        "D-4",
        "Joining and rejoining start with nothing unread, and a position",
        "Joining and rejoining start with nothing unread.",
    ),
    ("READ-JOIN-02", "D-4", "Leaving ends the state", "Leaving ends the state."),
    (
        "READ-ALL-01",
        "D-6",
        "Many places are marked as read with one request, which answers how many have changed",
        "sends the positions one has seen (PUT /me/read)",
    ),
    (
        "READ-SINCE-01",
        "D-12",
        "With the mark of an earlier answer, what has changed since is told",
        "an answer may repeat states, never miss one",
    ),
    (
        "READ-SINCE-02",
        "D",
        "What was left since is among left",
        "those whose state or membership changed), `left`: ids",
    ),
    ("READ-TOLD-01", "D-7", "One's other devices are told, if they ask", _EVENT),
    ("READ-TOLD-02", "D", "Nobody else is told, nor who does not ask", "(audience: the user alone)"),
    (
        "READ-TOLD-03",
        "X-8",
        "READ_STATE carries no id: line",
        "Presence, typing and read state are not in the log, carry no `id:` line",
    ),
    (
        "READ-DEL-01",
        "D",
        "The events of deletions say whose message it was",
        "| DELETE_MESSAGE, DELETE_DM_MESSAGE, DELETE_THREAD_REPLY | as before, plus `authorId` | yes |",
    ),
    (
        "READ-KEEP-01",
        "D-11, X-7",
        "A stream opened at asOf brings what is to be counted, no more and no less",
        "Take GET /me/places, open the stream at `asOf`.",
    ),
    (
        "READ-HIDE-01",
        "X-3",
        "A place that one does not see has no state (404), one that is not there neither",
        "The answer equals that for an id nobody ever had",
    ),
):
    area.required(_id, _spec, _text, words=[_words])
area.monitor("READ-STATE-01")

_HEARS = "lastEventId={}&ephemeral=read"


async def _place(run: Run, *members: Actor) -> str:
    """Make a channel that these are members of."""
    if not run.announced.version("membership"):
        return await run.channel()
    return str((await make_public(run, *members))["id"])


async def _places(who: Actor, since: str | None = None) -> dict[str, Any]:
    """Read one's places; the states are by the place's id."""
    target = "/me/places" if since is None else at("me", "places", since=since)
    answer = (await who.get(target)).shape(
        {
            "places": array(STATE),
            "left": array(text),
            "threads": {"unreadThreads": integer, "mentionCount": integer},
            "badge": integer,
            "mark": text,
            "asOf": text,
        }
    )
    return {**answer, "places": {one["placeId"]: one for one in answer["places"]}}


async def _state(who: Actor, place: str) -> dict[str, Any]:
    answer = (await who.get(at("me", "places", place))).shape({"state": STATE, "asOf": text})
    return dict(answer["state"])


async def _unread(who: Actor, place: str) -> int:
    return int((await _state(who, place))["unreadCount"])


async def _read(who: Actor, place: str, position: str, **more: Any) -> dict[str, Any]:
    body = {"position": position, **more}
    answer = await who.put(at("me", "places", place, "read"), body)
    return dict(answer.shape({"state": STATE, "changed": boolean}))


async def _mark(who: Actor, place: str, first: str) -> dict[str, Any]:
    answer = await who.put(at("me", "places", place, "unread"), {"from": first})
    return dict(answer.shape({"state": STATE})["state"])


@area.scenario(
    *("READ-LIST-01", "READ-BADGE-01", "READ-DEL-01"),
    *(f"READ-COUNT-{number:02}" for number in range(1, 6)),
)
async def what_others_post_is_unread(run: Run) -> None:
    """Post in a channel and a conversation as two people, reply, delete, and count."""
    place, direct = await _place(run, run.u, run.v), await run.conversation(run.u, run.v)
    before = await _places(run.v)
    with run.verdict("READ-LIST-01"):
        kinds = {id: before["places"].get(id, {}).get("kind") for id in (place, direct)}
        require(kinds == {place: "channel", direct: "direct"}, f"of its places it tells the kinds {kinds}")
    with run.verdict("READ-COUNT-05"):
        most = run.announced.capabilities["read-state"].get("countedUpTo")
        require(isinstance(most, int) and most > 0, f"countedUpTo is {most!r}")
    async with run.listen(run.w) as everyone, run.listen(run.v) as participant:
        first = str((await run.post(run.u, place))["id"])
        second = str((await run.post(run.u, place))["id"])
        with run.verdict("READ-COUNT-01"):
            await run.post(run.v, place)
            counts = [await _unread(run.v, place), await _unread(run.u, place)]
            require(counts == [2, 1], f"of two messages and one, {counts} are unread")
        with run.verdict("READ-COUNT-02"):
            reply = str((await run.reply(run.u, first))["reply"]["id"])
            require(await _unread(run.v, place) == 2, "a reply has changed what is unread in its place")
        with run.verdict("READ-COUNT-03"):
            (await run.u.delete(at("messages", second))).expect(200)
            require(await _unread(run.v, place) == 1, "what was deleted is unread still")
        with run.verdict("READ-COUNT-04"):
            hook = await run.webhook(place)
            target = at("webhooks", hook["id"], "messages")
            (await run.n.post(target, {"content": run.text()}, token=hook["token"])).expect(200)
            require(await _unread(run.v, place) == 2, "what a webhook has posted is not unread")
        with run.verdict("READ-BADGE-01"):
            said = str((await run.direct(run.u, direct))["id"])
            after = await _places(run.v)
            more = after["badge"] - before["badge"]
            require(more == 1, f"one direct message has changed the badge by {more}")
        with run.verdict("READ-DEL-01"):
            (await run.u.delete(at("messages", first, "thread", reply))).expect(200)
            (await run.a.delete(at("messages", first))).expect(200)
            (await run.u.delete(at("conversations", direct, "messages", said))).expect(200)
            await run.fence(everyone, participant)
            for observer, kind, id in (
                (everyone, "DELETE_MESSAGE", first),
                (everyone, "DELETE_MESSAGE", second),
                (everyone, "DELETE_THREAD_REPLY", reply),
                (participant, "DELETE_DM_MESSAGE", said),
            ):
                event = await observer.expect(kind, id=id)
                require(event.payload.get("authorId") == run.u.user_id, f"{kind} does not say whose it was")


@area.scenario("READ-BADGE-02")
async def a_group_is_in_the_badge(run: Run) -> None:
    """Say something in a group."""
    with run.verdict("READ-BADGE-02"):
        if run.announced.version("groups"):
            others = [await run.new_user(name="who is in a group") for _ in range(2)]
            body = {"userIds": [one.user_id for one in others]}
            group = str((await run.u.post("/groups", body)).ok()["channel"]["id"])
            before = (await _places(others[0]))["badge"]
            await run.post(run.u, group)
            more = (await _places(others[0]))["badge"] - before
            require(more == 1, f"one message in a group has changed the badge by {more}")


@area.scenario(*(f"READ-SET-{number:02}" for number in range(1, 6)))
async def a_place_is_read(run: Run) -> None:
    """Read up to messages, beyond them, back, and what is none."""
    place = await _place(run, run.v)
    posted = [str((await run.post(run.a, place))["id"]) for _ in range(3)]
    with run.verdict("READ-SET-01"):
        for wrong in ("", "no id", f"dm:{posted[0]}"):
            (await run.v.put(at("me", "places", place, "read"), {"position": wrong})).error(400)
            (await run.v.put(at("me", "places", place, "unread"), {"from": wrong})).error(400)
        require(await _unread(run.v, place) == 3, "it was refused, and something is read")
    with run.verdict("READ-SET-04"):
        first = await _read(run.v, place, posted[1])
        (await run.a.delete(at("messages", posted[1]))).expect(200)
        now = await _state(run.v, place)
        require(first["changed"] is True, "reading did not change anything")
        require(
            (now["position"], now["unreadCount"]) == (posted[1], 1),
            "with its message gone, the position is another, or what is after it",
        )
    with run.verdict("READ-SET-03"):
        back = await _read(run.v, place, posted[0])
        require(back["changed"] is False and back["state"]["position"] == posted[1], "it has moved back")
    with run.verdict("READ-SET-02"):
        later = str((await run.post(run.a, await run.channel()))["id"])
        beyond = (await _read(run.v, place, later))["state"]
        require(beyond["position"] == posted[2], f"the position is {beyond['position']}")
        await run.post(run.a, place)
        require(await _unread(run.v, place) == 1, "what came after is not unread")
    with run.verdict("READ-SET-05"):
        async with run.listen(run.v, query="ephemeral=read") as other:
            same = await _read(run.v, place, posted[2])
            await run.fence(other)
            require(same["changed"] is False, "changed is not false")
            require(not other.since(0, "READ_STATE", placeId=place), "READ_STATE was sent")


@area.scenario(*(f"READ-MARK-{number:02}" for number in range(1, 4)))
async def a_place_is_marked_as_unread(run: Run) -> None:
    """Read all, mark as unread from the second message on, and read again with either generation."""
    place = await _place(run, run.v)
    posted = [str((await run.post(run.a, place))["id"]) for _ in range(3)]
    before = (await _read(run.v, place, posted[2]))["state"]
    with run.verdict("READ-MARK-01"):
        marked = await _mark(run.v, place, posted[1])
        require(marked["generation"] == before["generation"] + 1, "the generation is not the next one")
        require(marked["isMarkedUnread"] is True and marked["unreadCount"] == 2, f"it is {marked}")
        require(posted[0] <= marked["position"] < posted[1], "the position is not before the message")
    with run.verdict("READ-MARK-02"):
        stale = await _read(run.v, place, posted[2], generation=before["generation"])
        require(stale["changed"] is False, "changed is not false")
        require(stale["state"] == marked, "it has changed the state")
    with run.verdict("READ-MARK-03"):
        same = await _read(run.v, place, marked["position"], generation=marked["generation"])
        require(same["changed"] is True, "changed is not true")
        require(same["state"] == {**marked, "isMarkedUnread": False}, "something else is another")


@area.scenario(
    "READ-JOIN-01", "READ-JOIN-02", "READ-SINCE-01", "READ-SINCE-02", "READ-LIST-02", "READ-COUNT-06"
)
async def members_come_and_go(run: Run) -> None:
    """Join a channel in which something was said, leave it, join again; archive it."""
    if not run.announced.version("membership"):
        return
    made = await make_public(run)
    place = str(made["id"])
    await run.post(run.a, place)
    mark = (await _places(run.v))["mark"]
    (await run.v.post(of(made, "join"))).expect(200)
    with run.verdict("READ-JOIN-01"):
        state = await _state(run.v, place)
        require(state["unreadCount"] == 0 and text(state["position"]), f"who has joined has {state}")
    with run.verdict("READ-SINCE-01"):
        require(place in (await _places(run.v, mark))["places"], "a place that was joined is missing")
        mark = (await _places(run.v))["mark"]
        said = str((await run.post(run.a, place))["id"])
        await _read(run.v, place, said)
        changed = await _places(run.v, mark)
        require(changed["places"].get(place, {}).get("position") == said, "a state that changed is missing")
    mark = changed["mark"]
    (await run.v.post(of(made, "leave"))).expect(200)
    with run.verdict("READ-JOIN-02"):
        (await run.v.get(at("me", "places", place))).error(404)
        require(place not in (await _places(run.v))["places"], "a place that was left is listed")
    with run.verdict("READ-SINCE-02"):
        require(place in (await _places(run.v, mark))["left"], "a place that was left is not among left")
    with run.verdict("READ-JOIN-01"):
        await run.post(run.a, place)
        (await run.v.post(of(made, "join"))).expect(200)
        require(await _unread(run.v, place) == 0, "who has joined again has something unread")
    with run.verdict("READ-LIST-02"):
        if run.announced.version("archive"):
            parent = await run.post(run.a, place, f"@{run.v.user_name}, look")
            await run.reply(run.a, str(parent["id"]), f"@{run.v.user_name}, here too")
            (await run.a.post(of(made, "archive"))).expect(200)
            require(place not in (await _places(run.v))["places"], "an archived place is listed")
    with run.verdict("READ-COUNT-06"):
        answer = await run.v.get(at("me", "places", place))
        if run.announced.version("archive") and answer.status != 404:
            state = answer.shape({"state": STATE})["state"]
            require((state["unreadCount"], state["mentionCount"]) == (0, 0), f"its state is {state}")
    with run.verdict("READ-LIST-02"):
        if run.announced.version("archive"):
            (await run.a.post(of(made, "unarchive"))).expect(200)
            require(place in (await _places(run.v))["places"], "it is open again, and not listed")


@area.scenario("READ-ALL-01", "READ-TOLD-01", "READ-TOLD-02", "READ-TOLD-03")
async def many_places_are_read_and_other_devices_hear(run: Run) -> None:
    """Read two places at once, while another device of the user, one that does not ask, and others listen."""
    places = [await _place(run, run.v), await _place(run, run.v)]
    seen = {place: str((await run.post(run.a, place))["id"]) for place in places}
    async with (
        run.listen(run.v, query="ephemeral=read,typing") as asks,
        run.listen(run.v) as silent,
        run.listen(run.a, query="ephemeral=read") as other,
    ):
        with run.verdict("READ-ALL-01"):
            body = {"positions": seen}
            answer = (await run.v.put("/me/read", body)).shape({"changed": integer})
            require(answer["changed"] == 2, f"of two places {answer['changed']} have changed")
            require([await _unread(run.v, place) for place in places] == [0, 0], "something is unread still")
            again = (await run.v.put("/me/read", body)).ok()
            require(again["changed"] == 0, "read again, something has changed")
        with run.verdict("READ-TOLD-01"):
            for place, position in seen.items():
                event = await asks.expect("READ_STATE", seconds=run.wait(6), placeId=place)
                require(event.payload["position"] == position, "it tells another position")
        with run.verdict("READ-TOLD-03"):
            ids = [event.id for event in asks.since(0, "READ_STATE")]
            require(not any(ids), f"its id is {ids}")
        with run.verdict("READ-TOLD-02"):
            await run.fence(asks, silent, other)
            for observer in (silent, other):
                heard = [
                    event
                    for event in observer.since(0, "READ_STATE")
                    if observer is silent or event.payload.get("placeId") in seen
                ]
                require(not heard, f"{observer.name} was told")


@area.scenario("READ-KEEP-01")
async def a_count_is_kept_with_the_stream(run: Run) -> None:
    """Take the places, open the stream there, and count along while messages come and go."""
    place = await _place(run, run.v)
    early = str((await run.post(run.a, place))["id"])
    start = await _places(run.v)
    late = str((await run.post(run.a, place))["id"])
    async with run.listen(run.v, query=_HEARS.format(start["asOf"])) as observer:
        for id in (early, late):
            (await run.a.delete(at("messages", id))).expect(200)
        for _ in range(3):
            await run.post(run.a, place)
        await run.post(run.v, place)
        await run.fence(observer)
        with run.verdict("READ-KEEP-01"):
            counted = start["places"][place]["unreadCount"] + _counted(observer, place, run.v.user_id)
            require(counted == await _unread(run.v, place) == 3, f"counting along comes to {counted}, not 3")


def _counted(observer: Observer, place: str, user: str) -> int:
    """Return by how much a count has changed, by what the stream has brought (D-11)."""
    came = observer.since(0, "NEW_MESSAGE", channelId=place)
    gone = observer.since(0, "DELETE_MESSAGE", channelId=place)
    more = [event for event in came if event.payload["author"]["id"] != user]
    less = [event for event in gone if event.payload.get("authorId") != user]
    return len(more) - len(less)


@area.scenario("READ-HIDE-01")
async def what_is_not_seen_has_no_state(run: Run) -> None:
    """Ask for the state of what is not there, and of a private channel of others."""
    hidden = [unknown(run)]
    if run.announced.version("private-channels"):
        hidden.append(str((await make_private(run, run.a, run.u))["id"]))
    with run.verdict("READ-HIDE-01"):
        nothing = (await run.w.put("/me/read", {"positions": {unknown(run): "0" * 32}})).status
        for place in hidden:
            (await run.w.get(at("me", "places", place))).error(404)
            (await run.w.put(at("me", "places", place, "read"), {"position": "0" * 32})).error(404)
            (await run.w.put(at("me", "places", place, "unread"), {"from": "0" * 32})).error(404)
            require(place not in (await _places(run.w))["places"], "it is listed")
            answer = await run.w.put("/me/read", {"positions": {place: "0" * 32}})
            answer.expect(nothing)
            require(answer.status != 200 or answer.json["changed"] == 0, "it was changed")


@area.scenario("READ-HIDE-02")
async def what_was_said_before_is_not_counted(run: Run) -> None:
    """Mark as unread, in a private channel, from a message on of before one came."""
    if not run.announced.version("private-channels"):
        return
    made, before = await with_past(run, run.u, run.v)
    place = str(made["id"])
    with run.verdict("READ-HIDE-02"):
        for state in (await _state(run.v, place), await _mark(run.v, place, before)):
            require(state["unreadCount"] == 0, f"{state['unreadCount']} that are not seen are unread")
            require(state["lastMessageId"] is None, "the last message is one that is not seen")
            require(state["position"] != before, "the position is a message that is not seen")
        after = str((await run.post(run.u, place))["id"])
        state = await _state(run.v, place)
        require((state["unreadCount"], state["lastMessageId"]) == (1, after), f"of one after it is {state}")


@area.scenario("READ-JOIN-03", "READ-ALL-02")
async def somebody_comes_to_the_server(run: Run) -> None:
    """Say something in a default channel, before and after an account is made."""
    place = str((await make_public(run, isDefault=True))["id"]) if _has_members(run) else await run.channel()
    await run.post(run.a, place)
    newcomer = await run.new_user(name="who came later")
    with run.verdict("READ-JOIN-03"):
        require(await _unread(newcomer, place) == 0, "what was said before they came is unread")
        await run.post(run.a, place)
        require(await _unread(newcomer, place) == 1, "what was said after they came is not unread")
    with run.verdict("READ-ALL-02"):
        position = str((await run.post(run.a, place))["id"])
        many = {f"{place}{number}": position for number in range(1_001)}
        (await newcomer.put("/me/read", {"positions": many})).error(400)


def _has_members(run: Run) -> bool:
    return bool(run.announced.version("membership"))
