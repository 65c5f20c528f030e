"""GRP-PAIR: a direct conversation stays between two and has no threads, also where there are groups (C-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.groups._area import AT, area, ids_of
from teamchat_conformance.checks.steps import item, items
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_REFUSALS = (400, 403, 404)

area.required(
    "GRP-PAIR-01",
    "C-7",
    "Nobody is added to a direct conversation, by whichever path",
    words=["Direct conversations stay two people"],
)
area.required("GRP-PAIR-02", "C-7", "A direct message has no thread", words=["without threads"])


@area.scenario("GRP-PAIR-01", "GRP-PAIR-02")
async def two_stay_two(run: Run) -> None:
    one, two, third = [await run.new_user(name=f"{which} of a pair") for which in ("one", "two", "nobody")]
    id = await run.conversation(one, two)
    said = str((await run.direct(one, id))["id"])
    with run.verdict("GRP-PAIR-01"):
        for path in (f"{AT}/{id}/members", f"/channels/{id}/members", f"/conversations/{id}/members"):
            # That the method is not one of the path's (405) is a refusal too.
            (await one.post(path, ids_of(third))).error(*_REFUSALS, 405)
        mine = await item(one, "/conversations", "conversations", id)
        pair = sorted((one.user_id, two.user_id))
        require(sorted(mine["participants"]) == pair, "others than the two are in it")
        (await third.get(f"/conversations/{id}/messages")).error(403, 404)
        require(not await items(third, "/conversations", "conversations"), "it is listed to a third")
    with run.verdict("GRP-PAIR-02"):
        for who in (one, two):
            (await who.post(f"/messages/{said}/thread", {"content": run.text()})).error(*_REFUSALS)
        messages = await items(two, f"/conversations/{id}/messages", "messages")
        require([message["id"] for message in messages] == [said], "a reply stands in the conversation")
        require(not messages[0].get("threadMeta"), "a direct message says that it has a thread")
