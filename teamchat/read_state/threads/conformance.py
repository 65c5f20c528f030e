"""THREADS: threads that one follows, and how far one has read there (extension D-8, capability threads).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import make_private, make_public, of
from teamchat_conformance.checks.steps import at, unknown
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.events import EventType
from teamchat_conformance.expect import array, boolean, integer, optional, require, text
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

STATE: dict[str, Any] = {
    "messageId": text,
    "placeId": text,
    "following": boolean,
    "position": text,
    "generation": integer,
    "unreadCount": integer,
    "mentionCount": integer,
    "lastReplyAt": optional(integer),
}
_KNOWN = {"state": dict.fromkeys(STATE)}
_ONE = "/me/threads/:messageId"

area = Area(
    "THREADS",
    "Threads that one follows",
    capability="threads",
    endpoints=(
        Endpoint(
            "GET", "/me/threads", known={"threads": {"parent": None, **_KNOWN}, "next": None, "asOf": None}
        ),
        Endpoint("PUT", _ONE, known=_KNOWN),
        Endpoint("PUT", f"{_ONE}/read", fields=(Field("position"),), known={**_KNOWN, "changed": None}),
        Endpoint("PUT", f"{_ONE}/unread", fields=(Field("from"),), known=_KNOWN),
    ),
    events=(EventType("THREAD_STATE", "STATE", {**STATE, "asOf": text}, f"PUT {_ONE}/read", area="THREADS"),),
)
_EVENT = "| THREAD_STATE | a ThreadState, asOf | no |"
_LIST = "array of {parent (Message), state (ThreadState)}, by last reply, newest first; next"
_AS_FOR_PLACES = "| PUT | /me/threads/:messageId/read, …/unread | as for places |"
for _id, _spec, _text, _words in (
    ("THREADS-STATE-01", "D", "THREAD_STATE holds a ThreadState and asOf", _EVENT),
    (
        "THREADS-FOLLOW-01",
        "D-8",
        "Who wrote the parent follows from the first reply on, which is unread",
        "Thread follows arise by: writing the parent (from the first reply)",
    ),
    (
        "THREADS-FOLLOW-02",
        "D-8",
        "Who replies follows, with everything up to the reply read",
        "replying reads up to one's reply",
    ),
    (
        "THREADS-FOLLOW-03",
        "D-8",
        "A follow that was ended stays so until one replies oneself",
        "Ending a follow lasts until one replies oneself",
    ),
    (
        "THREADS-FOLLOW-04",
        "D-8",
        "Who leaves a place has no thread there, and none when they come back",
        "leaving the place ends its thread states",
    ),
    (
        "THREADS-FOLLOW-05",
        "D-8",
        "Who chooses to follow has nothing unread",
        "What came before the cause is read",
    ),
    (
        "THREADS-FOLLOW-06",
        "D-8",
        "Who is mentioned in a thread follows it, with that unread and all before it read",
        "What came before the cause is read; a mention that causes it is unread",
    ),
    (
        "THREADS-FOLLOW-07",
        "D-8",
        "A mention in a thread that one has ended to follow counts, and begins no follow",
        "a mention then still counts\n  and notifies but does not follow anew",
    ),
    (
        "THREADS-COUNT-02",
        "D-1",
        "One's own replies are never unread",
        "have an id greater than\n  `position` and another author",
    ),
    (
        "THREADS-COUNT-03",
        "D",
        "A thread's state counts what mentions one there, and GET /me/places sums it up",
        "`threads` {unreadThreads, mentionCount: the sum over followed threads}",
    ),
    (
        "THREADS-BADGE-01",
        "D-9",
        "A followed thread that mentions one is one in the badge, however often it does",
        "+ unread followed\n  threads that mention, all without muted places",
    ),
    ("THREADS-LIST-01", "D", "Threads are listed by their last reply, newest first", _LIST),
    ("THREADS-LIST-02", "D", "With filter=unread, those alone in which something is unread", _LIST),
    ("THREADS-LIST-03", "X-11", "limit cuts the list, and next goes on", "`next` (opaque, null at the end)"),
    (
        "THREADS-COUNT-01",
        "D",
        "GET /me/places counts the threads in which something is unread",
        "`threads` {unreadThreads, mentionCount: the sum over followed threads}",
    ),
    ("THREADS-SET-01", "D-2", "A position that is no message id is 400", "One that is no message id: 400."),
    ("THREADS-SET-02", "D-3", "Reading moves on and never back, nor beyond the newest reply", _AS_FOR_PLACES),
    (
        "THREADS-SET-03",
        "D-10",
        "What is as it was changes nothing and is told nobody",
        "`PUT` with the value it has changes nothing and sends nothing.",
    ),
    (
        "THREADS-MARK-01",
        "D-3",
        "Marking as unread begins a generation that an older read can't undo",
        _AS_FOR_PLACES,
    ),
    ("THREADS-TOLD-01", "D", "One's other devices are told, if they ask, and nobody else", _EVENT),
    (
        "THREADS-HIDE-01",
        "X-3",
        "A thread that one does not see has no state (404), one that is not there neither",
        "The answer equals that for an id nobody ever had",
    ),
):
    area.required(_id, _spec, _text, words=[_words])
area.monitor("THREADS-STATE-01")


async def _place(run: Run, *members: Actor) -> str:
    """Make a channel that these are members of."""
    if not run.announced.version("membership"):
        return await run.channel()
    return str((await make_public(run, *members))["id"])


async def _page(who: Actor, **query: Any) -> dict[str, Any]:
    answer = await who.get(at("me", "threads", **query))
    return dict(
        answer.shape({"threads": array({"parent": {"id": text}, "state": STATE}), "next": optional(text)})
    )


async def _threads(who: Actor, **query: Any) -> dict[str, dict[str, Any]]:
    """Return the states of the threads that somebody follows, in order, by the parent's id."""
    page = await _page(who, limit=200, **query)
    return {one["parent"]["id"]: one["state"] for one in page["threads"]}


async def _thread(who: Actor, parent: str) -> dict[str, Any]:
    threads = await _threads(who)
    require(parent in threads, "the thread is not among those that are followed")
    return threads[parent]


async def _put(who: Actor, parent: str, *verb: str, **body: Any) -> dict[str, Any]:
    return dict((await who.put(at("me", "threads", parent, *verb), body)).shape({"state": STATE}))


async def _reply(run: Run, who: Actor, parent: str) -> str:
    return str((await run.reply(who, parent))["reply"]["id"])


@area.scenario(*(f"THREADS-FOLLOW-{number:02}" for number in (1, 2, 3, 5)), "THREADS-COUNT-01")
async def threads_are_followed_by_who_takes_part(run: Run) -> None:
    """Reply to a message, end the follow, go on talking, reply oneself; follow as a third person."""
    place = await _place(run, run.u, run.v, run.w)
    parent = str((await run.post(run.u, place))["id"])
    before = (await run.u.get("/me/places")).ok()["threads"]["unreadThreads"]
    with run.verdict("THREADS-FOLLOW-01"):
        require(parent not in await _threads(run.u), "a message without replies has a thread")
        await _reply(run, run.v, parent)
        state = await _thread(run.u, parent)
        require(state["following"] is True and state["unreadCount"] == 1, f"of one reply it is {state}")
        require(state["placeId"] == place, "placeId is not that of the message")
    with run.verdict("THREADS-COUNT-01"):
        counted = (await run.u.get("/me/places")).ok()["threads"]["unreadThreads"]
        require(counted == before + 1, f"one more thread is unread, and {counted - before} are counted")
    with run.verdict("THREADS-FOLLOW-02"):
        await _reply(run, run.w, parent)
        own = await _reply(run, run.v, parent)
        state = await _thread(run.v, parent)
        require((state["position"], state["unreadCount"]) == (own, 0), "something before is unread")
        await _reply(run, run.w, parent)
        require((await _thread(run.v, parent))["unreadCount"] == 1, "what came after is not unread")
    with run.verdict("THREADS-FOLLOW-03"):
        ended = (await _put(run.v, parent, following=False))["state"]
        require(ended["following"] is False, "it is followed still")
        await _reply(run, run.w, parent)
        require(parent not in await _threads(run.v), "others' replies have begun it again")
        await _reply(run, run.v, parent)
        require((await _thread(run.v, parent))["following"] is True, "one's own reply has not begun it")
    with run.verdict("THREADS-FOLLOW-05"):
        state = (await _put(run.a, parent, following=True))["state"]
        require(state["following"] is True and state["unreadCount"] == 0, f"it begins with {state}")
        await _reply(run, run.w, parent)
        require((await _thread(run.a, parent))["unreadCount"] == 1, "what came after is not unread")


@area.scenario("THREADS-FOLLOW-04")
async def who_leaves_follows_nothing_there(run: Run) -> None:
    """Reply in a channel, leave it, and join again."""
    if not run.announced.version("membership"):
        return
    made = await make_public(run, run.v)
    parent = str((await run.post(run.a, str(made["id"])))["id"])
    await _reply(run, run.v, parent)
    with run.verdict("THREADS-FOLLOW-04"):
        require(parent in await _threads(run.v), "who has replied does not follow")
        (await run.v.post(of(made, "leave"))).expect(200)
        require(parent not in await _threads(run.v), "the thread is followed still")
        (await run.v.post(of(made, "join"))).expect(200)
        require(parent not in await _threads(run.v), "it is followed again after coming back")


@area.scenario("THREADS-COUNT-02")
async def ones_own_replies_are_read(run: Run) -> None:
    """Have two people reply in turns, and mark all of it as unread."""
    place = await _place(run, run.u, run.v)
    parent = str((await run.post(run.u, place))["id"])
    first = await _reply(run, run.v, parent)
    for who in (run.u, run.v, run.u):
        await _reply(run, who, parent)
    with run.verdict("THREADS-COUNT-02"):
        state = (await _put(run.u, parent, "unread", **{"from": first}))["state"]
        require(state["unreadCount"] == 2, f"of two and two own ones {state['unreadCount']} are unread")


@area.scenario("THREADS-FOLLOW-06", "THREADS-FOLLOW-07", "THREADS-COUNT-03", "THREADS-BADGE-01")
async def who_is_mentioned_follows(run: Run) -> None:
    """Mention somebody in a thread of others, twice, then end the follow and do so again."""
    if not run.announced.version("mentions"):
        return
    place, name = await _place(run, run.u, run.v, run.w), run.w.user_name
    parent = str((await run.post(run.u, place))["id"])
    await _reply(run, run.v, parent)
    before = (await run.w.get("/me/places")).ok()
    await run.reply(run.v, parent, f"@{name}, look")
    with run.verdict("THREADS-FOLLOW-06"):
        state = await _thread(run.w, parent)
        require(state["unreadCount"] == 1, f"of the one that mentions {state['unreadCount']} are unread")
    await run.reply(run.u, parent, f"@{name}, here too")
    after = (await run.w.get("/me/places")).ok()
    with run.verdict("THREADS-COUNT-03"):
        state = await _thread(run.w, parent)
        require(state["mentionCount"] == 2, f"of two mentions {state['mentionCount']} are counted")
        more = after["threads"]["mentionCount"] - before["threads"]["mentionCount"]
        require(more == 2, f"the sum over threads has changed by {more}")
    with run.verdict("THREADS-BADGE-01"):
        more = after["badge"] - before["badge"]
        require(more == 1, f"two mentions in one thread have changed the badge by {more}")
    with run.verdict("THREADS-FOLLOW-07"):
        position = await _reply(run, run.v, parent)
        await _put(run.w, parent, "read", position=position)
        await _put(run.w, parent, following=False)
        await run.reply(run.u, parent, f"@{name}, once more")
        require(parent not in await _threads(run.w), "the mention has begun it anew")
        counted = (await run.w.get(at("me", "places", place))).ok()["state"]["mentionCount"]
        require(counted == 1, f"of one mention {counted} are counted in the place")


@area.scenario(*(f"THREADS-LIST-{number:02}" for number in range(1, 4)))
async def followed_threads_are_listed(run: Run) -> None:
    """Have three threads, reply in the first again, read one, and page through them."""
    place = await _place(run, run.u, run.v)
    parents = [str((await run.post(run.u, place))["id"]) for _ in range(3)]
    replies = [await _reply(run, run.v, parent) for parent in parents]
    replies[0] = await _reply(run, run.v, parents[0])
    order = [parents[0], parents[2], parents[1]]
    with run.verdict("THREADS-LIST-01"):
        found = [id for id in await _threads(run.u) if id in parents]
        require(found == order, "they do not stand by their last reply")
    with run.verdict("THREADS-LIST-02"):
        await _put(run.u, parents[2], "read", position=replies[2])
        unread = [id for id in await _threads(run.u, filter="unread") if id in parents]
        require(unread == [parents[0], parents[1]], "what was read is listed, or something unread is not")
        (await run.u.get(at("me", "threads", filter="no such"))).error(400)
    with run.verdict("THREADS-LIST-03"):
        first = await _page(run.u, limit=1)
        require(len(first["threads"]) == 1 and first["next"], "limit=1 does not cut after one")
        second = await _page(run.u, limit=1, cursor=first["next"])
        ids = [page["threads"][0]["parent"]["id"] for page in (first, second)]
        require(ids == order[:2], "the second page does not go on where the first ended")


@area.scenario("THREADS-SET-01", "THREADS-SET-02", "THREADS-SET-03", "THREADS-MARK-01", "THREADS-TOLD-01")
async def a_thread_is_read_and_marked(run: Run) -> None:
    """Read up to replies, back, beyond them; mark as unread, and read with either generation."""
    place = await _place(run, run.u, run.v)
    parent = str((await run.post(run.u, place))["id"])
    replies = [await _reply(run, run.v, parent) for _ in range(3)]
    with run.verdict("THREADS-SET-01"):
        for wrong in ("", "no id"):
            (await run.u.put(at("me", "threads", parent, "read"), {"position": wrong})).error(400)
            (await run.u.put(at("me", "threads", parent, "unread"), {"from": wrong})).error(400)
    async with (
        run.listen(run.u, query="ephemeral=read") as asks,
        run.listen(run.u) as silent,
        run.listen(run.v, query="ephemeral=read") as other,
    ):
        with run.verdict("THREADS-SET-02"):
            first = await _put(run.u, parent, "read", position=replies[1])
            require(first["changed"] is True, "reading did not change anything")
            require(first["state"]["unreadCount"] == 1, "the reply after it is not unread")
        with run.verdict("THREADS-TOLD-01"):
            event = await asks.expect("THREAD_STATE", seconds=run.wait(6), messageId=parent)
            require(event.payload["position"] == replies[1], "it tells another position")
        with run.verdict("THREADS-SET-03"):
            since = len(asks.since(0, "THREAD_STATE", messageId=parent))
            same = await _put(run.u, parent, "read", position=replies[1])
            await _put(run.u, parent, following=True)
            await run.fence(asks, silent, other)
            require(same["changed"] is False, "changed is not false")
            now = len(asks.since(0, "THREAD_STATE", messageId=parent))
            require(now == since, "THREAD_STATE was sent")
        with run.verdict("THREADS-TOLD-01"):
            for observer in (silent, other):
                heard = observer.since(0, "THREAD_STATE", messageId=parent)
                require(not heard, f"{observer.name} was told")
    with run.verdict("THREADS-SET-02"):
        back = await _put(run.u, parent, "read", position=replies[0])
        require(back["changed"] is False, "it has moved back")
        later = str((await run.post(run.v, place))["id"])
        beyond = (await _put(run.u, parent, "read", position=later))["state"]
        require(beyond["position"] == replies[2], "the position is beyond the newest reply")
    with run.verdict("THREADS-MARK-01"):
        marked = (await _put(run.u, parent, "unread", **{"from": replies[1]}))["state"]
        require(marked["generation"] == beyond["generation"] + 1, "the generation is not the next one")
        require(marked["unreadCount"] == 2, f"two are unread, and {marked['unreadCount']} are counted")
        stale = await _put(run.u, parent, "read", position=replies[2], generation=beyond["generation"])
        require(stale["changed"] is False and stale["state"] == marked, "it has changed the state")
        cleared = await _put(
            run.u, parent, "read", position=marked["position"], generation=marked["generation"]
        )
        require(cleared["changed"] is True, "the mark is not taken away at the same position")


@area.scenario("THREADS-HIDE-01")
async def what_is_not_seen_has_no_thread(run: Run) -> None:
    """Ask for a thread that is not there, and for one in a private channel of others."""
    hidden = [unknown(run)]
    if run.announced.version("private-channels"):
        private = str((await make_private(run, run.a, run.u))["id"])
        hidden.append(str((await run.post(run.a, private))["id"]))
        await _reply(run, run.u, hidden[-1])
    with run.verdict("THREADS-HIDE-01"):
        for parent in hidden:
            for verb, body in (
                ((), {"following": True}),
                (("read",), {"position": "0" * 32}),
                (("unread",), {"from": "0" * 32}),
            ):
                (await run.w.put(at("me", "threads", parent, *verb), body)).error(404)
            require(parent not in await _threads(run.w), "it is listed")
