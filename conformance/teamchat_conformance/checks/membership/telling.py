"""MEM-TOLD, MEM-SCOPE, MEM-ASOF: what streams tell of membership, and streams of what one is in alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.membership._area import area
from teamchat_conformance.checks.places import (
    about,
    add,
    added,
    join,
    kinds,
    make_managed,
    make_public,
    member_at,
    of,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "MEM-TOLD-01",
    "B, B-10",
    "Members are told who was added and by whom, and who was not in it is not",
    words=["`CHANNEL_MEMBERS_ADDED` to members", "| members after it;"],
)
area.required(
    "MEM-TOLD-02",
    "B-10",
    "Members are told who was removed; of leaving, by is oneself",
    words=["`CHANNEL_MEMBER_REMOVED` to those left", "leaving is removing, with `by` oneself"],
)
area.required(
    "MEM-TOLD-03",
    "B-10",
    "In a public channel adding and removing send no NEW_CHANNEL and no DELETE_CHANNEL",
    words=["in public channels adding and removing send no NEW_CHANNEL or DELETE_CHANNEL"],
)
area.required(
    "MEM-TOLD-04",
    "B",
    "Members are told of a changed role, and others are not",
    words=["| CHANNEL_MEMBER_UPDATED | channelId, userId, role | members |"],
)
area.required(
    "MEM-TOLD-05",
    "B-10",
    "In a default channel the user concerned alone is told",
    words=["In a default channel these events go to the user concerned alone"],
)
area.required(
    "MEM-SCOPE-01",
    "X-9",
    "scope=joined tells of what one is in, and not of another public channel",
    words=["limits a stream to places one is a member of"],
)
area.required(
    "MEM-SCOPE-02",
    "X-9, X-5",
    "An open stream with scope=joined tells all that comes after joining, and nothing after leaving",
    words=["whoever joins gets exactly the events after their join, whoever leaves none after"],
)
area.required(
    "MEM-SCOPE-03",
    "X-9",
    "Without scope a stream tells of all one sees",
    words=["Default `all`, as in the core."],
)
area.required(
    "MEM-ASOF-01",
    "X-7",
    "A stream opened with the asOf of GET /channels goes on exactly there",
    words=["a stream opened with `lastEventId=<asOf>` continues exactly there"],
)


@area.scenario("MEM-TOLD-01", "MEM-TOLD-02", "MEM-TOLD-03", "MEM-TOLD-04")
async def members_are_told(run: Run) -> None:
    made = await make_managed(run, run.u)
    id, seconds = made["id"], run.wait(5)
    async with run.listen(run.u) as manager, run.listen(run.v) as newcomer, run.listen(run.w) as outsider:
        with run.verdict("MEM-TOLD-01"):
            await add(run.u, made, run.v)
            for observer in (manager, newcomer):
                heard = await observer.expect("CHANNEL_MEMBERS_ADDED", channelId=id, seconds=seconds)
                who = added(heard)
                require(who == [run.v.user_id], f"{observer.name} is told that {who} were added")
                require(heard.payload.get("by") == run.u.user_id, "by is not who has added")
        with run.verdict("MEM-TOLD-04"):
            (await run.u.put(member_at(made, run.v), {"role": "manager"})).expect(200)
            for observer in (manager, newcomer):
                await observer.expect(
                    "CHANNEL_MEMBER_UPDATED",
                    channelId=id,
                    userId=run.v.user_id,
                    role="manager",
                    seconds=seconds,
                )
        with run.verdict("MEM-TOLD-02"):
            (await run.b.delete(member_at(made, run.v))).expect(200)
            gone: dict[str, Any] = {"channelId": id, "userId": run.v.user_id, "by": run.b.user_id}
            await manager.expect("CHANNEL_MEMBER_REMOVED", seconds=seconds, **gone)
            await join(run.v, made)
            (await run.v.post(of(made, "leave"))).expect(200)
            gone["by"] = run.v.user_id
            await manager.expect("CHANNEL_MEMBER_REMOVED", seconds=seconds, **gone)
        await run.fence(manager, newcomer, outsider)
        for check, kind in (
            ("MEM-TOLD-01", "CHANNEL_MEMBERS_ADDED"),
            ("MEM-TOLD-02", "CHANNEL_MEMBER_REMOVED"),
            ("MEM-TOLD-04", "CHANNEL_MEMBER_UPDATED"),
        ):
            with run.verdict(check):
                require(not outsider.since(0, kind, channelId=id), f"who is not in it was told {kind}")
        with run.verdict("MEM-TOLD-03"):
            for observer in (manager, newcomer, outsider):
                came = [
                    kind for kind in kinds(about(observer, id)) if kind in ("NEW_CHANNEL", "DELETE_CHANNEL")
                ]
                require(not came, f"{observer.name} was told {', '.join(came)}")


@area.scenario("MEM-TOLD-05")
async def the_user_concerned_is_told(run: Run) -> None:
    made = await make_public(run, isDefault=True)
    async with run.listen(run.u) as own, run.listen(run.v) as other, run.listen(run.a) as manager:
        with run.verdict("MEM-TOLD-05"):
            (await run.u.post(of(made, "leave"))).expect(200)
            gone: dict[str, Any] = {"channelId": made["id"], "userId": run.u.user_id}
            await own.expect("CHANNEL_MEMBER_REMOVED", seconds=run.wait(5), **gone)
            await join(run.u, made)
            await own.expect("CHANNEL_MEMBERS_ADDED", channelId=made["id"], seconds=run.wait(5))
            await run.fence(own, other, manager)
            for observer in (other, manager):
                came = kinds(about(observer, made["id"]))
                require(not came, f"{observer.name} was told {', '.join(came)}")


area.required(
    "MEM-SCOPE-04",
    "X-9",
    "A stream with scope=joined tells that one was added to a channel",
    words=["events that name the user"],
)


@area.scenario("MEM-SCOPE-04")
async def a_stream_of_what_is_joined_tells_of_oneself(run: Run) -> None:
    made = await make_public(run)
    async with run.listen(run.u, query="scope=joined") as joined:
        with run.verdict("MEM-SCOPE-04"):
            await add(run.a, made, run.u)
            heard = await joined.expect("CHANNEL_MEMBERS_ADDED", channelId=made["id"], seconds=run.wait(5))
            require(added(heard) == [run.u.user_id], "somebody else is named")


@area.scenario("MEM-SCOPE-01", "MEM-SCOPE-02", "MEM-SCOPE-03")
async def a_stream_of_what_is_joined(run: Run) -> None:
    inside, outside = await make_public(run, run.u), await make_public(run)
    seconds = run.wait(5)

    async def said(channel: dict[str, object]) -> str:
        return str((await run.post(run.a, str(channel["id"])))["id"])

    async with run.listen(run.u, query="scope=joined") as joined, run.listen(run.u) as everything:
        with run.verdict("MEM-SCOPE-01"):
            far, near = await said(outside), await said(inside)
            await joined.expect("NEW_MESSAGE", id=near, seconds=seconds)
            require(not about(joined, far), "a message of what one is not in was told")
        with run.verdict("MEM-SCOPE-03"):
            await everything.expect("NEW_MESSAGE", id=far, seconds=seconds)
            await everything.expect("NEW_MESSAGE", id=near, seconds=seconds)
        with run.verdict("MEM-SCOPE-02"):
            before = await said(outside)
            await join(run.u, outside)
            after = [await said(outside) for _ in range(3)]
            for id in after:
                await joined.expect("NEW_MESSAGE", id=id, seconds=seconds)
            require(not about(joined, before), "a message of before the join was told")
            (await run.u.post(of(outside, "leave"))).expect(200)
            last, fence = await said(outside), await said(inside)
            await joined.expect("NEW_MESSAGE", id=fence, seconds=seconds)
            require(not about(joined, last), "a message of after leaving was told")


@area.scenario("MEM-ASOF-01")
async def a_list_and_a_stream_join(run: Run) -> None:
    made = await make_public(run)
    before = (await run.post(run.a, made["id"]))["id"]
    with run.verdict("MEM-ASOF-01"):
        position = (await run.u.get("/channels")).ok()["asOf"]
        require(isinstance(position, str) and position.isdecimal(), f"asOf is {position!r}")
        after = (await run.post(run.a, made["id"]))["id"]
        async with run.listen(run.u, query=f"lastEventId={position}") as observer:
            await run.fence(observer)
            require(not about(observer, before), "what the list already held was told again")
            require(len(about(observer, after)) == 1, "what came after the list was not told once")
