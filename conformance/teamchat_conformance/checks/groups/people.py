"""GRP-TOLD, GRP-HIDE, GRP-ADD, GRP-END: who sees a group, who comes, and who leaves (C-3, C-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.groups._area import AT, area, group, ids_of, people
from teamchat_conformance.checks.places import (
    Question,
    added,
    contents,
    like_nothing,
    listed,
    of,
    of_channel,
    of_message,
    require_silence,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "GRP-TOLD-01",
    "X-5",
    "NEW_CHANNEL and messages come to those in it, and to nobody else",
    words=["the members then"],
)
area.required(
    "GRP-HIDE-01",
    "X-3",
    "To others, admins included, it is as a channel nobody ever had",
    words=["The answer equals that for an id nobody ever had"],
)
area.required(
    "GRP-ADD-01",
    "C-3",
    "Any member adds, and who is added sees what comes from then on",
    words=["Who is added sees what comes from then on"],
)
area.required(
    "GRP-ADD-03",
    "C-3",
    "POST /channels/:id/members adds to it in the same way",
    words=["POST /channels/:id/members on a group behaves as /groups/:id/members"],
)
area.required(
    "GRP-ADD-04", "C-3", "All in it are told who was added", words=["Any member may add, everyone is told."]
)
area.required(
    "GRP-END-01",
    "C-4",
    "Who leaves sees it no more, and the last one cannot (400)",
    words=["the last one cannot (400)"],
)
area.required(
    "GRP-END-02",
    "C-4",
    "Of two groups of the same people, POST /groups gives the one later active",
    words=["POST /groups then gives the one later active"],
)


@area.scenario("GRP-TOLD-01", "GRP-HIDE-01", "GRP-ADD-01", "GRP-ADD-03", "GRP-ADD-04")
async def people_come(run: Run) -> None:
    one, two, three = await people(run, 3)
    words = [run.text() for _ in range(4)]
    async with run.listen(three) as member, run.listen(run.w) as outsider, run.listen(run.b) as admin:
        made = await group(one, two, three)
        id = str(made["id"])
        said = str((await run.post(one, id, words[0]))["id"])
        await run.fence(member, outsider, admin)
        with run.verdict("GRP-TOLD-01"):
            require(member.since(0, "NEW_CHANNEL", id=id), "who is in it was not told NEW_CHANNEL")
            require(member.since(0, "NEW_MESSAGE", id=said), "who is in it was not told of a message")
            for observer in (outsider, admin):
                require_silence(observer, id, said, *words)
        with run.verdict("GRP-HIDE-01"):
            for who in (run.w, run.b):
                require(id not in await listed(who), f"it is listed to {who.actor}")
                for question in of_channel(run):
                    await like_nothing(who, question, id)
                for question in of_message():
                    await like_nothing(who, question, said)
                for verb, body in (("members", ids_of(run.w)), ("convert", {"name": run.text()})):
                    await like_nothing(who, Question("POST", f"{AT}/{{}}/{verb}", body), id)
        with run.verdict("GRP-ADD-01"):
            (await two.post(f"{AT}/{id}/members", ids_of(run.u))).shape({"channel": {"id": id}})
            await run.post(one, id, words[1])
            require(
                await contents(run.u, made) == words[1:2], "who was added reads other than what came after"
            )
            require(await contents(three, made) == words[:2], "who was there does not read all")
        with run.verdict("GRP-ADD-03"):
            (await three.post(of(made, "members"), ids_of(run.v))).expect(200)
            await run.post(one, id, words[2])
            require(
                await contents(run.v, made) == words[2:3], "who was added reads other than what came after"
            )
        with run.verdict("GRP-ADD-04"):
            for who in (run.u, run.v):
                events = member.since(0, "CHANNEL_MEMBERS_ADDED", channelId=id)
                times = sum(who.user_id in added(event) for event in events)
                require(times == 1, f"of {who.actor} was told {times} times")


@area.scenario("GRP-END-01", "GRP-END-02")
async def people_leave(run: Run) -> None:
    one, two, three, four = await people(run, 4)
    small, large = await group(one, two, three), await group(one, two, three, four)
    with run.verdict("GRP-END-02"):
        await run.post(one, str(small["id"]))
        (await four.post(of(large, "leave"))).expect(200)
        await run.post(one, str(large["id"]))
        require(
            (await group(two, one, three))["id"] == large["id"], "it gives the one that was active before"
        )
        await run.post(one, str(small["id"]))
        require(
            (await group(two, one, three))["id"] == small["id"], "it gives the one that was active before"
        )
    with run.verdict("GRP-END-01"):
        await like_nothing(four, Question("GET", "/channels/{}/messages"), str(large["id"]))
        for who in (three, two):
            (await who.post(of(small, "leave"))).expect(200)
        (await one.post(of(small, "leave"))).error(400)
        require(small["id"] in await listed(one), "it was refused, and the last one is out")
