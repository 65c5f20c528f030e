"""PRIV-HIST: from which message on who joins sees (B-9, X-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import (
    Question,
    add,
    contents,
    like_nothing,
    make_private,
    member_at,
    of,
    of_message,
    upload,
)
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "PRIV-HIST-01", "X-2", "Without it, who joins sees what was said before", words=["normally the first"]
)
area.required(
    "PRIV-HIST-02",
    "B-9",
    "With historyFor joiners, who joins sees from their join on, and who was there sees all",
    words=["`historyFor: joiners`: whoever joins later sees from their join on"],
)
area.required(
    "PRIV-HIST-03",
    "X-2",
    "A message of before the bound, its thread and reactions are as those nobody ever had",
    words=["if its own id (a reply: its parent's) is not less than that bound"],
)
area.required(
    "PRIV-HIST-04",
    "B-9",
    "Changing historyFor shows no more, and hides nothing, to who is in it",
    words=["Changing it never hides what somebody sees already, and never shows more."],
)
area.required(
    "PRIV-HIST-05",
    "B-9",
    "Who joins again takes the bound of the new join",
    words=["Rejoining takes the bound of the new join."],
)
area.required(
    "PRIV-HIST-06",
    "X-2",
    "A new reply to, a reaction on, an edit and a deletion of what is before the bound tell nothing",
    words=["Whatever hangs on a message (reply, reaction,", "is visible exactly when the message is"],
)
area.required(
    "PRIV-HIST-07",
    "X-2",
    "An image of a message of before the bound is as one that nobody ever had",
    words=["Whatever hangs on a message (reply, reaction, image", "is visible exactly when the message is"],
)
area.required(
    "PRIV-HIST-08",
    "X-2",
    "No page says that there is something before the bound",
    words=["A message is visible if its place is, and if its own id"],
)


@area.scenario("PRIV-HIST-01", "PRIV-HIST-02", "PRIV-HIST-03", "PRIV-HIST-04", "PRIV-HIST-05", "PRIV-HIST-06")
async def who_joins_sees(run: Run) -> None:
    made = await make_private(run, run.u)
    said = [run.text() for _ in range(4)]
    first = str((await run.post(run.u, made["id"], said[0]))["id"])
    reply = str((await run.reply(run.u, first))["reply"]["id"])
    with run.verdict("PRIV-HIST-01"):
        await add(run.u, made, run.v)
        require(await contents(run.v, made) == said[:1], "what was said before is not seen")
    (await run.u.put(of(made), {"historyFor": "joiners"})).expect(200)
    await add(run.u, made, run.w)
    await run.post(run.u, made["id"], said[1])
    with run.verdict("PRIV-HIST-02"):
        require(
            await contents(run.w, made) == said[1:2], "who has joined sees other messages than those after it"
        )
        require(await contents(run.u, made) == said[:2], "who was there does not see all")
    with run.verdict("PRIV-HIST-03"):
        for question in of_message(reply):
            await like_nothing(run.w, question, first)
        for question in of_message():
            await like_nothing(run.w, question, reply)
    with run.verdict("PRIV-HIST-06"):
        async with run.listen(run.w) as own, run.listen(run.v) as other:
            word = run.text()
            later = str((await run.reply(run.u, first, word))["reply"]["id"])
            for target in (f"/messages/{first}", f"/messages/{first}/thread/{later}"):
                (await run.u.put(target, {"content": said[0]})).expect(200)
            (await run.u.post(f"/messages/{first}/reactions", {"reaction": "ok"})).expect(200)
            (await run.u.delete(f"/messages/{first}/thread/{later}")).expect(200)
            await run.fence(own, other)
            heard = [event.type for event in own.events if first in event.data or later in event.data]
            require(not heard, f"of what is before the bound was told {', '.join(heard)}")
            # By its id: a stream that is a moment behind gets what was deleted since without its text.
            told = [event.type for event in other.events if later in event.data]
            require("NEW_THREAD_REPLY" in told, "who sees it was not told of the reply")
    with run.verdict("PRIV-HIST-04"):
        require(await contents(run.v, made) == said[:2], "joiners has hidden something from who was there")
        (await run.u.put(of(made), {"historyFor": "all"})).expect(200)
        require(await contents(run.w, made) == said[1:2], "all has shown more to who was there")
    with run.verdict("PRIV-HIST-05"):
        (await run.u.put(of(made), {"historyFor": "joiners"})).expect(200)
        (await run.u.delete(member_at(made, run.v))).expect(200)
        await run.post(run.u, made["id"], said[2])
        await add(run.u, made, run.v)
        await run.post(run.u, made["id"], said[3])
        require(
            await contents(run.v, made) == said[3:], "who was here before sees other than what came after"
        )
        require(await contents(run.u, made) == said, "who has stayed does not see all")


@area.scenario("PRIV-HIST-07", "PRIV-HIST-08")
async def what_hangs_on_what_was_said_before(run: Run) -> None:
    made = await make_private(run, run.u, historyFor="joiners")
    image = await upload(run.u, made)
    body = {"content": run.text(), "images": [image]}
    before = str((await run.u.post(of(made, "messages"), body)).ok()["message"]["id"])
    await add(run.u, made, run.v)
    with run.verdict("PRIV-HIST-07"):
        tag = (await run.u.get(of(made, "messages", "image", image))).expect(200).header("etag") or '"none"'
        given: tuple[dict[str, str], ...] = ({}, {"If-None-Match": tag}, {"Range": "bytes=0-3"})
        for headers in given:
            asked = Question("GET", f"{of(made, 'messages', 'image')}/{{}}", headers=headers)
            await like_nothing(run.v, asked, image)
    with run.verdict("PRIV-HIST-08"):
        after = str((await run.post(run.u, str(made["id"])))["id"])
        for query in (
            {},
            {"before": after},
            *({way: one} for way in ("after", "around") for one in (before, after)),
        ):
            page = (await run.v.get(of(made, "messages", **query))).ok()
            seen = [one["id"] for one in page["messages"]]
            require(before not in seen, f"{query} gives what is before the bound")
            is_last = query == {"after": after}
            require(page.get("hasBefore", False) is is_last, f"{query}: hasBefore is {page.get('hasBefore')}")
