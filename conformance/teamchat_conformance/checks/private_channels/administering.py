"""PRIV-ADM: what admins see of private channels, how they enter one and end one (B-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import (
    Question,
    contents,
    like_nothing,
    listed,
    make_private,
    member_at,
    of,
    of_nobody,
    pages,
    require_silence,
    roles,
)
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.checks.steps import at, items
from teamchat_conformance.expect import array, boolean, integer, milliseconds, optional, require, text
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_AT = "/admin/channels"
_ROW = {
    "id": text,
    "name": text,
    "isPrivate": boolean,
    "isArchived": boolean,
    "createdAt": milliseconds,
    "createdBy": optional(text),
    "memberCount": integer,
    "lastMessageAt": optional(milliseconds),
}
_NEVER = ("topic", "description", "members", "content", "messages")

area.required(
    "PRIV-ADM-01",
    "B-12",
    "GET /admin/channels lists every channel with the eight fields",
    words=["with id, name, isPrivate, isArchived, createdAt, createdBy, memberCount, lastMessageAt"],
)
area.required("PRIV-ADM-02", "B-12", "It tells nothing of what is said in them", words=["never content"])
area.required(
    "PRIV-ADM-03",
    "B-12",
    "Who is no admin is refused with 403, whether there is a channel or not",
    words=["Admins: `GET /admin/channels`"],
)
area.required("PRIV-ADM-04", "X-11", "Its pages of one hold every channel once", words=["and answer `next`"])
area.required(
    "PRIV-ADM-05",
    "B-12",
    "An admin who enters is a manager, and reads the channel",
    words=["makes the admin a manager"],
)
area.required(
    "PRIV-ADM-06",
    "B-12",
    "All members are told CHANNEL_MEMBERS_ADDED with the reason admin",
    words=["all members get CHANNEL_MEMBERS_ADDED with `reason` `admin`"],
)
area.required(
    "PRIV-ADM-07",
    "X-12",
    "A reason of more than 500 characters, or none, is refused with 400",
    words=["reason ≤ 500 characters"],
)
area.required(
    "PRIV-ADM-08",
    "B-12",
    "DELETE /admin/channels/:id ends a channel that the admin does not see",
    words=["`DELETE /admin/channels/:id`"],
)
area.required(
    "PRIV-ADM-09",
    "B-12",
    "Entering works where nobody is in it any more",
    words=["entering works on archived and memberless channels"],
)
area.recommended("PRIV-ADM-10", "D-03", "Of a channel that is not there, entering and deleting answer 404")

_ENTERING = ("PRIV-ADM-05", "PRIV-ADM-06", "PRIV-ADM-07", "PRIV-ADM-09")


@area.scenario("PRIV-ADM-01", "PRIV-ADM-02", "PRIV-ADM-03", "PRIV-ADM-04", "PRIV-ADM-08", "PRIV-ADM-10")
async def admins_list_channels(run: Run) -> None:
    topic, word = run.text("topic"), run.text("said")
    made = await make_private(run, run.u, run.v, topic=topic)
    id = str(made["id"])
    await make_private(run, run.w)
    await run.post(run.u, id, word)
    with run.verdict("PRIV-ADM-01"):
        (await run.a.get(f"{_AT}?limit=200")).shape({"channels": array(_ROW), "next": optional(text)})
        everything = await pages(run.a, _AT, "channels", limit=200)
        row = next((one for one in everything if one["id"] == id), {})
        wanted = {"name": made["name"], "isPrivate": True, "isArchived": False, "memberCount": 2}
        wanted["createdBy"] = run.u.user_id
        found = {key: row.get(key) for key in wanted}
        require(found == wanted, f"it is listed with {found}, and should be with {wanted}")
        require(row.get("lastMessageAt") is not None, "lastMessageAt is missing")
    with run.verdict("PRIV-ADM-02"):
        require(not row.keys() & set(_NEVER), f"it is listed with {', '.join(row.keys() & set(_NEVER))}")
        require(topic not in str(everything) and word not in str(everything), "it tells what is in it")
    with run.verdict("PRIV-ADM-03"):
        (await run.u.get(_AT)).error(403)
        for one in (id, of_nobody(id)):
            (await run.w.post(at("admin", "channels", one, "enter"), {"reason": "x"})).error(403)
            (await run.w.delete(at("admin", "channels", one))).error(403)
    with run.verdict("PRIV-ADM-04"):
        single = [one["id"] for one in await pages(run.a, _AT, "channels", limit=1)]
        require(len(single) == len(set(single)) and id in single, "a channel comes twice, or is missing")
        require({one["id"] for one in everything} <= {*single}, "pages of one hold fewer channels")
    with run.verdict("PRIV-ADM-10"):
        (await run.a.post(at("admin", "channels", of_nobody(id), "enter"), {"reason": "x"})).error(404)
        (await run.a.delete(at("admin", "channels", of_nobody(id)))).error(404)
    async with run.listen(run.v) as member, run.listen(run.w) as outsider:
        with run.verdict("PRIV-ADM-08"):
            (await run.b.delete(at("admin", "channels", id))).expect(200)
            await member.expect("DELETE_CHANNEL", id=id, seconds=run.wait(5))
            require(id not in await listed(run.u), "it is there still")
            await like_nothing(run.u, Question("GET", "/channels/{}"), id)
            await run.fence(outsider)
            require_silence(outsider, id)


@area.scenario(*_ENTERING)
async def an_admin_enters(run: Run) -> None:
    word = run.text("said before")
    made = await make_private(run, run.u)
    await run.post(run.u, str(made["id"]), word)
    enter = at("admin", "channels", str(made["id"]), "enter")
    async with run.listen(run.u) as member:
        first = await run.a.post(enter, {"reason": run.text("looking into it")})
        if first.status == 403:
            for id in _ENTERING:
                run.verdicts.put(Finding(id, "not-applicable", "chat.adminsMayEnter is off"))
            return
        with run.verdict("PRIV-ADM-05"):
            first.expect(200)
            require(
                (await roles(run.a, made)).get(run.a.user_id) == "manager", "who has entered is no manager"
            )
            require(word in await contents(run.a, made), "who has entered does not read it")
        with run.verdict("PRIV-ADM-06"):
            heard = await member.expect("CHANNEL_MEMBERS_ADDED", channelId=made["id"], seconds=run.wait(5))
            require(heard.payload.get("reason") == "admin", f"its reason is {heard.payload.get('reason')}")
            require(
                [one["userId"] for one in heard.payload["members"]] == [run.a.user_id], "others are named"
            )
    with run.verdict("PRIV-ADM-05"):
        (await run.a.put(member_at(made, run.a), {"role": "member"})).expect(200)
        (await run.a.post(enter, {"reason": "again"})).expect(200)
        again = (await roles(run.u, made)).get(run.a.user_id)
        require(again == "manager", f"a member who has entered is {again}")
    with run.verdict("PRIV-ADM-07"):
        for body in ({"reason": "x" * 501}, {}, {"reason": 1}):
            (await run.b.post(enter, body)).error(400)
        require(run.b.user_id not in await roles(run.u, made), "it was refused, and they are in it")
    with run.verdict("PRIV-ADM-09"):
        for one in (run.u, run.a):
            (await one.post(of(made, "leave"))).expect(200)
        (await run.b.post(enter, {"reason": "x" * 500})).expect(200)
        require(await roles(run.b, made) == {run.b.user_id: "manager"}, "who has entered is not its manager")
        require(
            word in [one.get("content") for one in await items(run.b, of(made, "messages"), "messages")],
            "all is gone",
        )
