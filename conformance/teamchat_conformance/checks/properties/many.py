"""PROP-ACK, PROP-EVT-05: many writers at once: nothing acknowledged is lost, nothing comes twice.

Each write has an effect of its own that can be found again.  A write that was answered
must be there, one that was refused must not, and one without an answer may be either.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.properties._area import area
from teamchat_conformance.checks.steps import at, items, message, messages_at
from teamchat_conformance.checks.stream._area import listening_to
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_WRITERS = 8
_WRITES = 200
_REACTIONS = 40
_MOST = 200

area.required("PROP-ACK-01", "§4 Channel messages", "Of 200 posts by 8 writers at once each is there, once")
area.required("PROP-ACK-02", "§4 Reactions, Threads", "So is every reaction and reply; threadMeta counts all")
area.recommended("PROP-EVT-05", "D-35", "Observers of writers at once all hear one order")


@dataclass
class History:
    """What was written, by how it ended."""

    done: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    async def write(self, actor: Actor, target: str, key: str, text: str) -> None:
        """Write one text and note what came of it."""
        try:
            answer = await actor.post(target, {key: text})
        except Miss:
            self.unknown.add(text)
            return
        outcome = (
            self.done if answer.status == 200 else self.unknown if answer.status >= 500 else self.refused
        )
        outcome.add(text)

    def compare(self, found: list[str], what: str) -> None:
        """Compare with what is there in the end. Raises `Miss`."""
        number, there = Counter(found), set(found)
        lost = self.done - there
        phantom = there - self.done - self.unknown
        doubled = [text for text, count in number.items() if count > 1]
        wrong = [
            f"{len(things)} {name} ({', '.join(sorted(things)[:3])})"
            for name, things in (("lost", lost), ("never accepted", phantom), ("doubled", doubled))
            if things
        ]
        require(not wrong, f"of {len(self.done)} acknowledged {what}: {'; '.join(wrong)}")
        told = f"{len(self.done)} of {len(self.done | self.refused | self.unknown)} {what} were acknowledged"
        require(len(self.done) > len(self.refused | self.unknown), told)


@area.scenario("PROP-ACK-01", "PROP-EVT-05")
async def posts_at_once(run: Run) -> None:
    channel, history = await run.channel(), History()
    actors = (run.a, run.b, run.u, run.v, run.w)

    async def writer(number: int) -> None:
        for _ in range(_WRITES // _WRITERS):
            await history.write(actors[number % len(actors)], messages_at(channel), "content", run.text())

    async with listening_to(run, run.u, run.v, run.a) as observers:
        await _all(writer)
        await run.fence(*observers)
        orders = [
            [event.payload["content"] for event in observer.since(0, "NEW_MESSAGE", channelId=channel)]
            for observer in observers
        ]
    with run.verdict("PROP-ACK-01"):
        listed = await items(run.w, messages_at(channel, limit=_MOST), "messages")
        history.compare([one["content"] for one in listed], "posts")
    with run.verdict("PROP-EVT-05"):
        require(orders.count(orders[0]) == len(orders), "observers heard the posts in different orders")
        require(
            history.done <= set(orders[0]), f"{len(history.done - set(orders[0]))} posts were not heard of"
        )


@area.scenario("PROP-ACK-02")
async def reactions_and_replies_at_once(run: Run) -> None:
    channel, reactions, replies = await run.channel(), History(), History()
    parent = str((await run.post(run.u, channel))["id"])
    actors = (run.a, run.b, run.u, run.v, run.w)

    async def writer(number: int) -> None:
        actor = actors[number % len(actors)]
        for turn in range(_REACTIONS // _WRITERS):
            word = f"r{number}-{turn}"
            await reactions.write(actor, at("messages", parent, "reactions"), "reaction", word)
            await replies.write(actor, at("messages", parent, "thread"), "content", run.text())

    await _all(writer)
    with run.verdict("PROP-ACK-02"):
        told = await message(run.w, channel, parent)
        reactions.compare([word for word, who in told["reactions"].items() for _ in who], "reactions")
        listed = await items(run.w, at("messages", parent, "thread", limit=_MOST), "replies")
        replies.compare([one["content"] for one in listed], "replies")
        count = (told.get("threadMeta") or {}).get("replyCount")
        require(count == len(listed), f"replyCount is {count}, and there are {len(listed)} replies")


async def _all(writer: object) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(_WRITERS):
            nursery.start_soon(writer, number)  # type: ignore[arg-type]
