"""GRP-NEW, GRP-NAME: which group the same people have, and what it is called (C-1, C-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.groups._area import AT, area, group, ids_of, people
from teamchat_conformance.checks.places import (
    CHANNEL,
    listed,
    of,
    roles,
    shown,
)
from teamchat_conformance.checks.steps import at, together, unknown
from teamchat_conformance.expect import boolean, require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_SAME = (
    "The same set of people has one group: POST /groups returns it, whoever asks; two at once get the same."
)

area.required(
    "GRP-NEW-01",
    "C",
    "A group is a private channel of kind group, of the caller and the others",
    words=["| POST | /groups | userIds (2–8 others) → channel, isNew |"],
)
area.required("GRP-NEW-02", "C-1", "The same people have the same group, whoever asks", words=[_SAME])
area.required(
    "GRP-NEW-03", "C-1", "Two who ask at once get the same group", words=["two at once get the same"]
)
area.required(
    "GRP-NEW-04",
    "C-1",
    "Oneself among the ids is passed over, and fewer than two others are refused with 400",
    words=["Oneself among the ids is passed over; fewer than two others: 400"],
)
area.required(
    "GRP-NEW-05",
    "C-1",
    "An unknown or removed user is answered 404",
    words=["unknown or removed: 404 as D-29"],
)
area.required(
    "GRP-NEW-06", "C", "More than eight others are refused with 400", words=["userIds (2–8 others)"]
)
area.required(
    "GRP-NAME-01",
    "C-2",
    "Its name is the members' names in alphabetical order, cut to 80",
    words=['joined by ", ", cut to 80, made at reading'],
)
area.required(
    "GRP-NAME-02",
    "C-2",
    "PUT of its name is 400, and any member sets its topic",
    words=["any member sets `topic`; `name`: 400"],
)
area.required(
    "GRP-ADD-02", "C", "A tenth person is refused with 400", words=["up to 9 people in all, else 400"]
)


@area.scenario("GRP-NEW-01", "GRP-NEW-02", "GRP-NEW-03", "GRP-NAME-01", "GRP-NAME-02")
async def a_group_is_made(run: Run) -> None:
    one, two, three = await people(run, 3)
    with run.verdict("GRP-NEW-01"):
        first = (await one.post(AT, ids_of(two, three))).shape({"channel": CHANNEL, "isNew": boolean})
        made = first["channel"]
        require(first["isNew"] is True, "it is not new")
        kind = {key: made.get(key) for key in ("kind", "isPrivate")}
        require(kind == {"kind": "group", "isPrivate": True}, f"it is {kind}")
        found = await roles(two, made)
        require(found.keys() == {one.user_id, two.user_id, three.user_id}, f"{len(found)} people are in it")
        require("manager" not in found.values(), "there is a manager in it")
        require(made["id"] in await listed(three), "it is not listed to who is in it")
    with run.verdict("GRP-NEW-02"):
        for by, others in ((one, (three, two)), (two, (one, three)), (three, (two, one, two))):
            again = (await by.post(AT, ids_of(*others))).ok()
            require(again["channel"]["id"] == made["id"], "the same people have another group")
            require(again["isNew"] is False, "it is said to be new")
    with run.verdict("GRP-NEW-03"):
        asked = [
            by.post(AT, ids_of(*others))
            for by, *others in ((one, two, run.u), (two, run.u, one), (run.u, one, two))
        ]
        answers = [answer.ok() for answer in await together(*asked)]
        require(
            len({answer["channel"]["id"] for answer in answers}) == 1,
            "asked at once, they got several groups",
        )
        require(sum(answer["isNew"] for answer in answers) == 1, "not one of them was told that it is new")
    with run.verdict("GRP-NAME-01"):
        names = sorted((one.user_name, two.user_name, three.user_name), key=str.casefold)
        require(
            (await shown(one, made))["name"] == ", ".join(names)[:80], "its name is not the people's names"
        )
        (await one.put("/users/me", {"userName": run.text("A" * 64)[:60]})).expect(200)
        one.user_name = (await one.get("/auth/me")).ok()["user"]["userName"]
        names = sorted((one.user_name, two.user_name, three.user_name), key=str.casefold)
        found = (await shown(two, made))["name"]
        require(found == ", ".join(names)[:80], f"after somebody has another name it is {found!r}")
    with run.verdict("GRP-NAME-02"):
        (await one.put(of(made), {"name": run.text("mine")})).error(400)
        topic = run.text("topic")
        (await two.put(of(made), {"topic": topic})).expect(200)
        require((await shown(three, made)).get("topic") == topic, "the topic is not set")


@area.scenario("GRP-NEW-04", "GRP-NEW-05", "GRP-NEW-06", "GRP-ADD-02")
async def who_is_nogroup(run: Run) -> None:
    nine = await people(run, 9)
    one, two, *_, last = nine
    with run.verdict("GRP-NEW-04"):
        (await one.post(AT, {})).error(400)
        for others in ((), (two,), (two, two), (one, two)):
            (await one.post(AT, ids_of(*others))).error(400)
        with_oneself = await group(one, one, two, run.u)
        require(
            with_oneself["id"] == (await group(one, two, run.u))["id"], "with oneself it is another group"
        )
    with run.verdict("GRP-NEW-05"):
        gone = await run.new_user(name="somebody removed")
        (await run.a.delete(at("users", gone.user_id))).expect(200)
        for id in (unknown(run), gone.user_id):
            (await one.post(AT, {"userIds": [two.user_id, id]})).error(404)
    with run.verdict("GRP-NEW-06"):
        full = await group(one, *nine[1:])
        require(len(await roles(one, full)) == 9, "nine people are not nine")
        (await one.post(AT, ids_of(*nine[1:], run.u))).error(400)
    with run.verdict("GRP-ADD-02"):
        (await one.post(f"{AT}/{full['id']}/members", ids_of(run.u))).error(400)
        require(run.u.user_id not in await roles(last, full), "it was refused, and they are in it")
