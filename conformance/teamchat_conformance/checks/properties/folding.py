"""PROP-EVT-07: an observer that lost its stream reloads, listens on, and knows all again."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from teamchat_conformance.checks.properties._area import area
from teamchat_conformance.checks.properties.hearing import load
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import require
from teamchat_conformance.model import Fold

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

_CHANGES = 20

area.recommended("PROP-EVT-07", "D-35", "Dropped, reconnected and reloaded, an observer has the state again")


@area.scenario("PROP-EVT-07")
async def an_observer_comes_back(run: Run) -> None:
    channel, random = await run.channel(), Random(run.seed)
    fold = Fold({channel})
    async with run.listen(run.v) as observer:
        await _change(run, channel, random)
        await run.fence(observer)
        _take(fold, observer)
    await _change(run, channel, random)
    async with run.listen(run.v) as observer:
        fold = Fold({channel})
        await load(fold, run.v, channel)
        await _change(run, channel, random)
        await run.fence(observer)
        _take(fold, observer)
        read = Fold({channel})
        await load(read, run.v, channel)
        with run.verdict("PROP-EVT-07"):
            require(fold.state() == read.state(), f"folded {fold.state()}, read {read.state()}"[:1000])


async def _change(run: Run, channel: str, random: Random) -> None:
    """Change a channel at random: posts, edits, reactions, replies, deletions."""
    posted = [str((await run.post(run.u, channel))["id"])]
    for _ in range(_CHANGES):
        message_id = random.choice(posted)
        where = at("messages", message_id)
        kind = random.choice(("post", "edit", "react", "reply", "delete"))
        if kind == "edit":
            (await run.u.put(where, {"content": run.text()})).expect(200)
        elif kind == "react":
            (await run.w.post(f"{where}/reactions", {"reaction": "👍"})).expect(200)
        elif kind == "reply":
            await run.reply(run.w, message_id)
        elif kind == "delete" and len(posted) > 1:
            (await run.u.delete(where)).expect(200)
            posted.remove(message_id)
        else:
            posted.append(str((await run.post(run.u, channel))["id"]))


def _take(fold: Fold, observer: Observer) -> None:
    for event in observer.events:
        if isinstance(event.payload, dict):
            fold.take(event.type, event.payload)
