"""SSE-ORDER, SSE-TIME: events come once, in one order, soon, and only for what has happened."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.steps import at, ids, items, messages, messages_at, together, unknown
from teamchat_conformance.checks.stream._area import about, area, listening_to
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

_POSTS = 100
_EACH = 20
_SOON_SECONDS = 2.0

area.required("SSE-ORDER-01", "D-35", "A hundred posts of one user arrive in the order they were made")
area.recommended("SSE-ORDER-02", "D-35", "Posts of five users at once arrive in one order for everyone")
area.recommended("SSE-ORDER-03", "D-35", "That order is the order of the channel's list")
area.required("SSE-ORDER-04", "D-35", "A message's events come in the order of what was done to it")
area.recommended("SSE-ORDER-05", "§6", "Nothing begins or ends twice on one stream")
area.recommended("SSE-ORDER-06", "D-35", "What an event tells of can be read the moment it arrives")
area.recommended("SSE-ORDER-07", "D-35", "What is refused sends no event")
area.recommended("SSE-TIME-01", "§1", "An event comes within 2 seconds of the answer, for a hundred posts")
area.monitor("SSE-ORDER-05")


@area.scenario("SSE-ORDER-01", "SSE-TIME-01")
async def one_after_the_other(run: Run) -> None:
    channel = await run.channel()
    async with run.listen(run.v) as observer:
        answered: dict[str, float] = {}
        for _ in range(_POSTS):
            answer = await run.u.post(messages_at(channel), {"content": run.text()})
            message_id = answer.ok()["message"]["id"]
            answered[message_id] = run.recorder.exchanges[answer.exchange - 1].ended
        await run.fence(observer)
        came = observer.since(0, "NEW_MESSAGE", channelId=channel)
    with run.verdict("SSE-ORDER-01"):
        require([event.payload["id"] for event in came] == list(answered), "the order is another one")
    with run.verdict("SSE-TIME-01") as finding:
        delays = sorted(max(0.0, event.at - answered[event.payload["id"]]) for event in came)
        require(len(delays) == _POSTS, f"{len(delays)} of {_POSTS} events came")
        middle, most, worst = statistics.median(delays), delays[_POSTS * 95 // 100], delays[-1]
        finding.value = {"median": round(middle, 4), "95 of 100": round(most, 4), "worst": round(worst, 4)}
        require(worst < run.wait(_SOON_SECONDS), f"an event came {worst:.1f} s after the answer")


@area.scenario("SSE-ORDER-02", "SSE-ORDER-03")
async def many_at_once(run: Run) -> None:
    channel = await run.channel()
    writers = (run.a, run.b, run.u, run.v, run.w)
    async with listening_to(run, run.u, run.v, run.a) as observers:
        async with trio.open_nursery() as nursery:
            for writer in writers:
                nursery.start_soon(_post_some, run, writer, channel)
        await run.fence(*observers)
        orders = [_order(observer, channel) for observer in observers]
    with run.verdict("SSE-ORDER-02"):
        require(len(orders[0]) == _EACH * len(writers), f"{len(orders[0])} events came")
        require(orders.count(orders[0]) == len(orders), "observers saw different orders")
    with run.verdict("SSE-ORDER-03"):
        listed = ids(await items(run.u, messages_at(channel, limit=_EACH * len(writers)), "messages"))
        require(orders[0] in (listed, listed[::-1]), "the list of the channel has another order")


async def _post_some(run: Run, writer: Actor, channel: str) -> None:
    for _ in range(_EACH):
        await run.post(writer, channel)


def _order(observer: Observer, channel: str) -> list[str]:
    return [event.payload["id"] for event in observer.since(0, "NEW_MESSAGE", channelId=channel)]


@area.scenario("SSE-ORDER-04", "SSE-ORDER-06")
async def events_follow_what_was_done(run: Run) -> None:
    channel = await run.channel()
    async with run.listen(run.v) as observer:
        with run.verdict("SSE-ORDER-04"):
            message_id = (await run.post(run.u, channel))["id"]
            where = at("messages", message_id)
            (await run.u.put(where, {"content": run.text()})).expect(200)
            (await run.u.post(f"{where}/reactions", {"reaction": "👍"})).expect(200)
            (await run.u.delete(f"{where}/reactions", {"reaction": "👍"})).expect(200)
            (await run.u.delete(where)).expect(200)
            await run.fence(observer)
            seen = about(observer.events, message_id)
            require(seen == _STORY, f"the events were {', '.join(seen)}")
        with run.verdict("SSE-ORDER-06"):
            for _ in range(_EACH):
                await _read_at_once(run, observer, channel)


_STORY = ["NEW_MESSAGE", "UPDATE_MESSAGE", "NEW_REACTION", "DELETE_REACTION", "DELETE_MESSAGE"]


async def _read_at_once(run: Run, observer: Observer, channel: str) -> None:
    content, mark = run.text(), observer.mark()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run.post, run.u, channel, content)
        event = await observer.expect("NEW_MESSAGE", since=mark, seconds=run.wait(5), content=content)
        listed = ids(await messages(run.v, channel))
    require(event.payload.get("id") in listed, "the message of an event that has come is not in the list yet")


@area.scenario("SSE-ORDER-07")
async def what_is_refused_is_not_told(run: Run) -> None:
    channel = await run.channel()
    message_id = str((await run.post(run.u, channel))["id"])
    stranger, friend = await run.new_user(name="user X"), await run.new_user(name="user Y")
    place = await run.conversation(stranger, friend)
    direct = str((await run.direct(stranger, place))["id"])
    word = run.text("refused")
    async with listening_to(run, run.v, run.a, stranger) as observers:
        marks = [observer.mark() for observer in observers]
        answers = await _refused(run, channel, message_id, place, direct, word)
        with run.verdict("SSE-ORDER-07"):
            for answer in answers:
                if answer.status < 400:
                    raise answer.miss("expected a refusal")
            await run.fence(*observers)
            for observer, mark in zip(observers, marks, strict=True):
                seen = about(observer.events[mark:], channel, message_id, place, direct, word)
                require(not seen, f"refused requests sent {', '.join(seen)} to {observer.name}")


async def _refused(
    run: Run, channel: str, message: str, place: str, direct: str, word: str
) -> list[Answered]:
    """Ask for much that is not allowed, not there, or not well formed."""
    there, reactions = at("messages", message), at("messages", message, "reactions")
    talk = at("conversations", place, "messages")
    return await together(
        run.u.post(messages_at(channel), {"content": 5}),
        run.u.post(messages_at(unknown(run)), {"content": word}),
        run.n.post(messages_at(channel), {"content": word}),
        run.v.put(there, {"content": word}),
        run.v.delete(there),
        run.u.put(there, {}),
        run.u.post(reactions, {}),
        run.n.post(reactions, {"reaction": "👍"}),
        run.u.post(at("messages", unknown(run), "thread"), {"content": word}),
        run.u.post("/channels", {"name": word}),
        run.u.put(at("channels", channel), {"name": word}),
        run.u.delete(at("channels", channel)),
        run.u.post("/webhooks", {"name": word, "channelId": channel}),
        run.u.put("/server/settings", {"name": word}),
        run.w.post(talk, {"content": word}),
        run.w.put(at("conversations", place, "messages", direct), {"content": word}),
        run.w.delete(at("conversations", place, "messages", direct)),
        run.u.put("/users/me", {"userName": 7}),
    )
