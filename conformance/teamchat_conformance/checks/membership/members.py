"""MEM-JOIN, MEM-LEAVE, MEM-WHO, MEM-ADD, MEM-KICK, MEM-DEF: who is in a public channel."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from teamchat_conformance.checks.membership._area import area
from teamchat_conformance.checks.places import (
    MEMBER,
    add,
    join,
    listed,
    make_managed,
    make_public,
    member_at,
    of,
    pages,
    roles,
    shown,
)
from teamchat_conformance.checks.steps import unknown
from teamchat_conformance.expect import array, integer, optional, require, text

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "MEM-JOIN-01",
    "B",
    "Who joins is a member, and joining again answers the same",
    words=["| POST | /channels/:channelId/join | all, public only | channel; again: the same |"],
)
area.required(
    "MEM-LEAVE-01",
    "B",
    "Who leaves is no member, and sees the public channel still",
    words=["| POST | /channels/:channelId/leave | member | success |"],
)
area.required(
    "MEM-LEAVE-02",
    "B",
    "Leaving a public channel one is not in answers 200, and nothing changes",
    words=["leaving a public channel one is not in: 200, nothing changes"],
)
area.required(
    "MEM-WHO-01",
    "B",
    "The members are listed with userId, role, joinedAt and addedBy, with next and count",
    words=["| GET | /channels/:channelId/members | who sees it | members, next, count |"],
)
area.required(
    "MEM-WHO-02",
    "X-11",
    "Pages of one member each hold every member once, and next is null at the end",
    words=["take `limit` (1–200, default 50, more means 200) and `cursor`, and answer `next`"],
)
area.required(
    "MEM-WHO-03",
    "X-11",
    "A cursor goes on after the member it points at has left",
    words=["A cursor survives deletion of what it points at."],
)
area.required(
    "MEM-WHO-04", "X-11", "A limit of more than 200 means 200", words=["1–200, default 50, more means 200"]
)
area.recommended("MEM-WHO-05", "D-08", "A limit that is zero, negative or no number is refused with 400")
area.required(
    "MEM-ADD-01",
    "B",
    "A member adds people: added and alreadyMembers hold their ids",
    words=["userIds (1–200) → added, alreadyMembers (arrays of ids)"],
)
area.required(
    "MEM-ADD-02",
    "B",
    "An unknown user among userIds is answered 404, and nobody is added",
    words=["an unknown user among `members` or `userIds`: 404, and nothing is done"],
)
area.required(
    "MEM-ADD-03", "B", "Who is not in a public channel adds nobody (403)", words=["public: any member"]
)
area.required(
    "MEM-ADD-04", "B", "No userIds, none, and more than 200 are refused with 400", words=["userIds (1–200)"]
)
area.recorded("MEM-ADD-05", "X-13", "Whether adding under the same Idempotency-Key again answers the same")
area.required(
    "MEM-KICK-01",
    "B",
    "A manager removes a member; removing who is not there answers 200",
    words=["manager, admin who sees it | success; not there: success |"],
)
area.required(
    "MEM-KICK-02",
    "B",
    "A member who is no manager removes nobody else (403)",
    words=["| DELETE | /channels/:channelId/members/:userId | manager, admin who sees it |"],
)
area.required(
    "MEM-KICK-03",
    "B-3",
    "A manager does not remove another (403), and an admin does",
    words=["A manager may not remove another; an admin who sees the channel may."],
)
area.required(
    "MEM-KICK-04",
    "B",
    "Removing oneself is leaving",
    words=["Removing oneself by DELETE …/members/:userId is leaving"],
)
area.required(
    "MEM-DEF-01",
    "B-1",
    "Everyone is in a default channel, who came later too, until they leave",
    words=["`isDefault`: everyone is a member until they leave"],
)


@area.scenario("MEM-JOIN-01", "MEM-LEAVE-01", "MEM-LEAVE-02")
async def one_joins_and_leaves(run: Run) -> None:
    made = await make_public(run)
    with run.verdict("MEM-JOIN-01"):
        first = await join(run.u, made)
        require(first.get("isMember") is True, "who has joined is no member")
        require(first.get("role") == "member", f"who has joined is {first.get('role')}")
        require(
            first.get("memberCount") == 2, f"two are in it, and memberCount is {first.get('memberCount')}"
        )
        require(await join(run.u, made) == first, "joining again answers something else")
        (await run.u.post(f"/channels/{unknown(run)}/join")).error(404)
    with run.verdict("MEM-LEAVE-01"):
        (await run.u.post(of(made, "leave"))).expect(200)
        after = await shown(run.u, made)
        require(after.get("isMember") is False, "who has left is a member")
        require(after.get("memberCount") == 1, f"memberCount is {after.get('memberCount')}")
        require(made["id"] not in await listed(run.u, joined="true"), "what was left is listed as joined")
        require(made["id"] in await listed(run.u), "a public channel is hidden from who has left it")
    with run.verdict("MEM-LEAVE-02"):
        async with run.listen(run.a) as manager:
            (await run.u.post(of(made, "leave"))).expect(200)
            await run.fence(manager)
            require(not manager.since(0, "CHANNEL_MEMBER_REMOVED"), "nothing happened, and was told")
        require(run.a.user_id in await roles(run.u, made), "somebody else has left")


@area.scenario("MEM-WHO-01", "MEM-WHO-02", "MEM-WHO-03", "MEM-WHO-04", "MEM-WHO-05")
async def members_are_listed(run: Run) -> None:
    made = await make_public(run, run.u, run.v)
    everybody = {run.a.user_id, run.u.user_id, run.v.user_id}
    with run.verdict("MEM-WHO-01"):
        answer = await run.w.get(of(made, "members"))
        answer.shape({"members": array(MEMBER), "next": optional(text), "count": integer})
        told = {one["userId"]: one for one in answer.json["members"]}
        require(told.keys() == everybody, f"{len(told)} members are listed, and not the three")
        require(answer.json["count"] == 3, f"count is {answer.json['count']}")
        require(told[run.a.user_id]["role"] == "manager", "the manager is no manager in the list")
        require(told[run.u.user_id].get("addedBy") == run.a.user_id, "addedBy is not who has added")
    path = of(made, "members")
    with run.verdict("MEM-WHO-02"):
        found = [one["userId"] for one in await pages(run.w, path, limit=1)]
        require(sorted(found) == sorted(everybody), f"in pages of one there are {len(found)}, not the three")
        first = (await run.w.get(of(made, "members", limit=2))).ok()
        require(len(first["members"]) == 2, f"a page of 2 holds {len(first['members'])}")
    with run.verdict("MEM-WHO-03"):
        first = (await run.w.get(of(made, "members", limit=1))).ok()
        seen = first["members"][0]["userId"]
        (await run.b.delete(of(made, "members", seen))).expect(200)
        rest = (await run.w.get(of(made, "members", cursor=first["next"]))).ok()["members"]
        left = everybody - {seen}
        require(
            {one["userId"] for one in rest} == left, "after who has left, others are missing or come again"
        )
    with run.verdict("MEM-WHO-04"):
        (await run.w.get(of(made, "members", limit=5_000))).expect(200)
    with run.verdict("MEM-WHO-05"):
        for limit in (0, -1, "x"):
            (await run.w.get(of(made, "members", limit=limit))).error(400)


@area.scenario("MEM-ADD-01", "MEM-ADD-02", "MEM-ADD-03", "MEM-ADD-04", "MEM-ADD-05")
async def people_are_added(run: Run) -> None:
    made = await make_public(run, run.u)
    path = of(made, "members")
    with run.verdict("MEM-ADD-01"):
        told = await add(run.u, made, run.v, run.u)
        require(told["added"] == [run.v.user_id], f"added is {told['added']}")
        require(told["alreadyMembers"] == [run.u.user_id], f"alreadyMembers is {told['alreadyMembers']}")
        require((await shown(run.v, made)).get("isMember") is True, "who was added is no member")
    with run.verdict("MEM-ADD-02"):
        (await run.u.post(path, {"userIds": [run.w.user_id, unknown(run)]})).error(404)
        require(run.w.user_id not in await roles(run.u, made), "somebody was added nevertheless")
    with run.verdict("MEM-ADD-03"):
        (await run.w.post(path, {"userIds": [run.w.user_id]})).error(403)
        require(run.w.user_id not in await roles(run.u, made), "it was refused, and they are in it")
    with run.verdict("MEM-ADD-04"):
        many = [f"unknown-{number}" for number in range(201)]
        (await run.u.post(path, {})).error(400)
        for ids in ([], "x", [1], many):
            (await run.u.post(path, {"userIds": ids})).error(400)
    key = {"Idempotency-Key": secrets.token_hex(16)}
    answers = [await run.u.post(path, {"userIds": [run.w.user_id]}, headers=key) for _ in range(2)]
    run.record("MEM-ADD-05", answers[0].body == answers[1].body)


@area.scenario("MEM-KICK-01", "MEM-KICK-02", "MEM-KICK-03", "MEM-KICK-04")
async def people_are_removed(run: Run) -> None:
    made = await make_managed(run, run.u, run.v, run.w)
    with run.verdict("MEM-KICK-02"):
        (await run.v.delete(member_at(made, run.w))).error(403)
        (await run.v.delete(member_at(made, run.u))).error(403)
        require({run.u.user_id, run.w.user_id} <= (await roles(run.v, made)).keys(), "somebody was removed")
    with run.verdict("MEM-KICK-01"):
        for _ in range(2):
            (await run.u.delete(member_at(made, run.w))).expect(200)
        require(run.w.user_id not in await roles(run.u, made), "who was removed is a member still")
    with run.verdict("MEM-KICK-03"):
        (await run.u.put(member_at(made, run.v), {"role": "manager"})).expect(200)
        (await run.u.delete(member_at(made, run.v))).error(403)
        require(run.v.user_id in await roles(run.u, made), "a manager has removed another")
        (await run.b.delete(member_at(made, run.v))).expect(200)
        require(run.v.user_id not in await roles(run.u, made), "an admin's removal is not done")
    with run.verdict("MEM-KICK-04"):
        await add(run.u, made, run.v)
        (await run.v.delete(member_at(made, run.v))).expect(200)
        require((await shown(run.v, made)).get("isMember") is False, "who removed themself is a member still")


@area.scenario("MEM-DEF-01")
async def everyone_is_in_a_default_channel(run: Run) -> None:
    made = await make_public(run, isDefault=True)
    late = await run.new_user(name="a user of later")
    with run.verdict("MEM-DEF-01"):
        for one in (run.u, late):
            require((await shown(one, made)).get("isMember") is True, f"{one.actor} is not in it")
            require(
                made["id"] in await listed(one, joined="true"), f"it is not among what {one.actor} has joined"
            )
        before = (await run.a.get(of(made, "members"))).ok()["count"]
        (await run.u.post(of(made, "leave"))).expect(200)
        require((await shown(run.u, made)).get("isMember") is False, "who has left is a member")
        require((await run.a.get(of(made, "members"))).ok()["count"] == before - 1, "count is as before")
        require((await shown(late, made)).get("isMember") is True, "somebody else has left")
        await join(run.u, made)
        require((await shown(run.u, made)).get("isMember") is True, "who has joined again is no member")
