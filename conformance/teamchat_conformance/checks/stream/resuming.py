"""SSE-LIFE-04, SSE-RESUME: a client that lost its stream gets what it missed (decision D-34)."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from urllib.parse import quote

import trio

from teamchat_conformance.checks.steps import at
from teamchat_conformance.checks.stream._area import about, area
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Event, Observer

_WRITTEN = 60
_DROPS = 4

area.recommended("SSE-LIFE-04", "D-34", "Last-Event-ID gives the five events missed, in order")
area.recommended("SSE-RESUME-01", "D-34", "An empty lastEventId gives an id: line with every event")
area.recommended("SSE-RESUME-02", "D-34", "The parameter lastEventId resumes as the header does")
area.recommended(
    "SSE-RESUME-03", "D-34", "Dropped and resumed under steady posts nothing is lost, nothing comes twice"
)
area.required("SSE-RESUME-04", "§6", "What is replayed holds no direct message of others")
area.recommended("SSE-RESUME-05", "D-34", "What the log does not reach back to gives RESYNC, with no payload")
area.recommended("SSE-RESUME-06", "D-34", "Resumed across a deletion or an edit, nothing tells what was said")
area.recommended(
    "SSE-RESUME-07", "D-34", "A new user who resumes from the beginning is not told what was before"
)


@area.scenario("SSE-LIFE-04", "SSE-RESUME-01", "SSE-RESUME-02", "SSE-RESUME-04")
async def what_was_missed(run: Run) -> None:
    channel = await run.channel()
    one, other = await run.new_user(name="user X"), await run.new_user(name="user Y")
    async with run.listen(run.v, query="lastEventId=") as observer:
        await run.fence(observer)
        with run.verdict("SSE-RESUME-01"):
            bare = [event.type for event in observer.events if event.id is None]
            require(not bare, f"no id: line with {', '.join(bare)}")
    last = observer.last_id or ""
    missed = [(await run.post(run.u, channel))["id"] for _ in range(5)]
    place = await run.conversation(one, other)
    said = str((await run.direct(one, place))["id"])
    async with run.listen(run.v, headers=[("Last-Event-ID", last)]) as observer:
        with run.verdict("SSE-LIFE-04"):
            await run.fence(observer)
            came = _posts(observer.events, channel)
            require(came == missed, f"{len(came)} of 5 missed events came, or in another order")
        with run.verdict("SSE-RESUME-04"):
            seen = about(observer.events, place, said)
            require(not seen, f"an outsider was told after resuming: {', '.join(seen)}")
    async with run.listen(run.v, query=f"lastEventId={last}") as observer:
        with run.verdict("SSE-RESUME-02"):
            await run.fence(observer)
            came = _posts(observer.events, channel)
            require(came == missed, f"{len(came)} of 5 missed events came, or in another order")


@area.scenario("SSE-RESUME-03")
async def neither_gap_nor_repeat(run: Run) -> None:
    channel = await run.channel()
    posted: list[str] = []
    came: list[str] = []
    async with run.listen(run.v, query="lastEventId=") as observer:
        await run.fence(observer)
    last = observer.last_id or ""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_write, run, channel, posted)
        for turn in range(_DROPS):
            async with run.listen(run.v, query=f"lastEventId={last}") as observer:
                await _more(observer, channel, len(came), (turn + 1) * _WRITTEN // (_DROPS + 1))
            came += _posts(observer.events, channel)
            last = observer.last_id or last
    async with AsyncExitStack() as stack:
        observer = await stack.enter_async_context(run.listen(run.v, query=f"lastEventId={last}"))
        with run.verdict("SSE-RESUME-03"):
            await run.fence(observer)
            came += _posts(observer.events, channel)
            gaps, repeats = set(posted) - set(came), len(came) - len(set(came))
            require(came == posted, f"{len(gaps)} events missed, {repeats} repeated, or the order is another")


async def _write(run: Run, channel: str, posted: list[str]) -> None:
    for _ in range(_WRITTEN):
        posted.append((await run.post(run.u, channel))["id"])


async def _more(observer: Observer, channel: str, had: int, wanted: int) -> None:
    """Wait until so many posts have come in all, or the stream has ended; a while at most."""
    with trio.move_on_after(5):
        while had + len(_posts(observer.events, channel)) < wanted and observer.ended_at is None:
            await observer.change()


@area.scenario("SSE-RESUME-05")
async def beyond_the_log(run: Run) -> None:
    async with run.listen(run.v, query=f"lastEventId=unknown-{run.id}") as observer:
        with run.verdict("SSE-RESUME-05"):
            event = await observer.expect("RESYNC", seconds=run.wait(5))
            require(event.payload == {}, f"RESYNC has the payload {event.payload}")
            await run.fence(observer)


@area.scenario("SSE-RESUME-06", "SSE-RESUME-07")
async def what_is_gone(run: Run) -> None:
    """A server may keep the events of what was deleted; what was said is not to be in them."""
    channel = await run.channel()
    async with run.listen(run.v, query="lastEventId=") as observer:
        await run.fence(observer)
    last = observer.last_id or ""
    gone = [run.text("gone") for _ in range(5)]
    deleted, edited = [await run.post(run.u, channel, text) for text in gone[:2]]
    parent = await run.post(run.u, channel)
    reply = (await run.reply(run.u, parent["id"], gone[2]))["reply"]
    above = await run.post(run.u, channel)
    await run.reply(run.v, above["id"], gone[3])
    talk = await run.conversation(run.u, run.v)
    direct = await run.direct(run.u, talk, gone[4])
    kept, after = run.text("kept"), run.text("after")
    await run.post(run.u, channel, kept)
    await run.u.put(f"/messages/{quote(str(edited['id']))}", {"content": after})
    for one in (deleted, reply, above):
        await run.u.delete(f"/messages/{quote(str(one['id']))}")
    await run.u.delete(at("conversations", talk, "messages", direct["id"]))
    async with run.listen(run.v, query=f"lastEventId={last}") as observer:
        with run.verdict("SSE-RESUME-06"):
            await run.fence(observer)
            heard = str([event.payload for event in observer.events])
            require(kept in heard and after in heard, "what is still there was not told")
            still = [text for text in gone if text in heard]
            require(not still, f"{len(still)} of {len(gone)} texts that were deleted or edited were told")
    late = await run.new_user(name="a user of later")
    async with run.listen(late, query="lastEventId=0") as observer:
        with run.verdict("SSE-RESUME-07"):
            await run.fence(observer)
            require(kept not in str([event.payload for event in observer.events]), "it was told")


def _posts(events: list[Event], channel: str) -> list[str]:
    return [
        event.payload.get("id")
        for event in events
        if event.type == "NEW_MESSAGE" and event.payload.get("channelId") == channel
    ]
