"""MEM-MAKE, MEM-FORM, MEM-PUT: channels with the fields of part B."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.membership._area import area
from teamchat_conformance.checks.places import (
    CHANNEL,
    about,
    add,
    join,
    kinds,
    listed,
    make_managed,
    make_public,
    of,
    shown,
)
from teamchat_conformance.checks.steps import unknown, wrong_values
from teamchat_conformance.expect import array, require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MAKES = "name, optional topic, description, isDefault, postPolicy → channel"
_CHANGES = (
    "any of name, topic, description, isDefault (admin), postPolicy, invitePolicy, historyFor → channel"
)

area.required(
    "MEM-MAKE-01",
    "B",
    "A channel is made with topic, description, isDefault and postPolicy, and has them",
    words=[_MAKES],
)
area.required("MEM-MAKE-02", "B-1", "Who makes a channel is its manager", words=["The creator is manager."])
area.required(
    "MEM-MAKE-03",
    "X-12",
    "A topic of 250 characters is taken and one of 251 refused; a description of 2,000 and of 2,001",
    words=["Topic ≤ 250, description ≤ 2,000"],
)
area.recommended("MEM-MAKE-04", "D-02", "Fields of another type or of an unknown value are refused with 400")
area.recorded("MEM-MAKE-05", "B-1", "Whether a channel is default whose creation does not say")
area.required(
    "MEM-FORM-01",
    "B",
    "The optional fields of channels have their types",
    words=["**Channel**, new optional fields"],
)
area.required(
    "MEM-FORM-02",
    "B",
    "One channel is answered by its id",
    words=["| GET | /channels/:channelId | all | channel |"],
)
area.required(
    "MEM-LIST-01",
    "B-1",
    "A public channel is listed to who is not in it, and its messages are read",
    words=["everyone sees them and gets their events"],
)
area.required(
    "MEM-LIST-02", "B", "joined=true lists what one is in, and nothing else", words=["`joined=true`"]
)
area.required(
    "MEM-PUT-01",
    "B",
    "A manager who is no admin changes name, topic, description and postPolicy",
    words=["admin who sees it, or manager", _CHANGES],
)
area.required(
    "MEM-PUT-02", "B", "UPDATE_CHANNEL tells the changed fields to who is not a member", words=["who sees it"]
)
area.required(
    "MEM-PUT-03",
    "B",
    "isPrivate other than it is, is refused with 400",
    words=["`isPrivate` other than it is: 400"],
)
area.required(
    "MEM-PUT-04",
    "B",
    "isDefault is changed by an admin, and by no other manager (403)",
    words=["isDefault (admin)"],
)
area.required(
    "MEM-PUT-05",
    "B",
    "A member who is no manager changes nothing (403)",
    words=["admin who sees it, or manager"],
)
area.required(
    "MEM-POST-01",
    "B",
    "With postPolicy managers a member's message is refused with 403, and a reply is taken",
    words=["`postPolicy: managers` binds top-level messages of members; replies"],
)
area.required(
    "MEM-POST-02",
    "B",
    "With postPolicy managers, managers, webhooks and admins post",
    words=["replies, webhooks and managers are free of it, admins who see the channel too"],
)


@area.scenario(
    "MEM-MAKE-01", "MEM-MAKE-02", "MEM-MAKE-03", "MEM-MAKE-04", "MEM-MAKE-05", "MEM-FORM-01", "MEM-FORM-02"
)
async def a_channel_is_made(run: Run) -> None:
    topic, description = run.text("topic"), run.text("description")
    given = {"topic": topic, "description": description, "isDefault": False, "postPolicy": "managers"}
    made = await make_public(run, **given)
    with run.verdict("MEM-MAKE-01"):
        for one in (made, await shown(run.a, made)):
            require({key: one.get(key) for key in given} == given, f"it was made with {given}, and is {one}")
    with run.verdict("MEM-MAKE-02"):
        require((await shown(run.a, made)).get("role") == "manager", "its creator is no manager")
        require((await shown(run.a, made)).get("isMember") is True, "its creator is no member")
        require((await shown(run.u, made)).get("isMember") is False, "somebody else is a member")
    with run.verdict("MEM-MAKE-03"):
        for field, most in (("topic", 250), ("description", 2_000)):
            full = await make_public(run, **{field: "é" * most})
            require(full.get(field) == "é" * most, f"a {field} of {most} characters is another")
            too_long = {"name": run.text(), field: "x" * (most + 1)}
            (await run.a.post("/channels", too_long)).error(400)
            (await run.a.put(of(made), {field: "x" * (most + 1)})).error(400)
    with run.verdict("MEM-MAKE-04"):
        bad = [{"postPolicy": "nobody"}, {"isDefault": "yes"}, *wrong_values("topic")[:4]]
        for body in bad:
            (await run.a.post("/channels", {"name": run.text(), **body})).error(400)
    plain = told(await run.a.post("/channels", {"name": run.text("plain")}), "channel")
    run.undo_with("a channel", lambda: run.a.delete(of(plain)))
    run.record("MEM-MAKE-05", (await shown(run.a, plain)).get("isDefault", "not said"))
    with run.verdict("MEM-FORM-01"):
        (await run.u.get("/channels")).shape({"channels": array(CHANNEL)})
        full = (await run.a.get(of(made))).shape({"channel": CHANNEL})["channel"]
        require(full.get("memberCount") == 1, f"one is in it, and memberCount is {full.get('memberCount')}")
    with run.verdict("MEM-FORM-02"):
        one = await shown(run.u, made)
        require(
            one["id"] == made["id"] and one["name"] == made["name"], f"another channel is answered: {one}"
        )
        (await run.u.get(f"/channels/{unknown(run)}")).error(404)
        (await run.n.get(of(made))).error(401)


@area.scenario("MEM-LIST-01", "MEM-LIST-02")
async def channels_are_listed(run: Run) -> None:
    made, other = await make_public(run), await make_public(run)
    said = await run.post(run.a, made["id"])
    with run.verdict("MEM-LIST-01"):
        require(made["id"] in await listed(run.u), "it is not listed to who is not in it")
        answer = await run.u.get(of(made, "messages"))
        require(said["id"] in [one.get("id") for one in answer.ok()["messages"]], "its messages are not read")
    with run.verdict("MEM-LIST-02"):
        await join(run.u, made)
        joined = await listed(run.u, joined="true")
        require(made["id"] in joined, "a channel that was joined is not listed as joined")
        require(other["id"] not in joined, "a channel is listed as joined that was not")
        require({made["id"], other["id"]} <= set(await listed(run.u)), "not all are listed without it")


@area.scenario("MEM-PUT-01", "MEM-PUT-02", "MEM-PUT-03", "MEM-PUT-04", "MEM-PUT-05")
async def a_manager_changes_a_channel(run: Run) -> None:
    made = await make_managed(run, run.u, run.v)
    new = {
        "name": run.text("renamed"),
        "topic": run.text("topic"),
        "description": run.text("description"),
        "postPolicy": "managers",
    }
    async with run.listen(run.w) as outsider:
        with run.verdict("MEM-PUT-01"):
            (await run.u.put(of(made), new)).shape({"channel": new})
            one = await shown(run.w, made)
            require({key: one.get(key) for key in new} == new, f"it was to be {new}, and is {one}")
        with run.verdict("MEM-PUT-02"):
            heard = (await outsider.expect("UPDATE_CHANNEL", id=made["id"], seconds=run.wait(5))).payload
            wrong = {key: heard.get(key) for key in new if heard.get(key) != new[key]}
            require(not wrong, f"UPDATE_CHANNEL tells {wrong} of {new}")
            of_the_caller = heard.keys() & {"role", "isMember"}
            require(not of_the_caller, f"UPDATE_CHANNEL tells everyone {', '.join(of_the_caller)}")
    with run.verdict("MEM-PUT-03"):
        (await run.u.put(of(made), {"isPrivate": True})).error(400)
        (await run.u.put(of(made), {"isPrivate": False, "topic": ""})).expect(200)
        require(not (await shown(run.w, made)).get("isPrivate"), "it has become private")
    with run.verdict("MEM-PUT-04"):
        (await run.u.put(of(made), {"isDefault": True})).error(403)
        (await run.a.put(of(made), {"isDefault": True})).shape({"channel": {"isDefault": True}})
    with run.verdict("MEM-PUT-05"):
        (await run.v.put(of(made), {"topic": "mine"})).error(403)
        (await run.w.put(of(made), {"topic": "mine"})).error(403)
        require((await shown(run.v, made)).get("topic") != "mine", "it was refused, and has changed")


@area.scenario("MEM-POST-01", "MEM-POST-02")
async def managers_alone_post(run: Run) -> None:
    made = await make_managed(run, run.u, run.v, postPolicy="managers")
    said = {"content": run.text()}
    parent = told(await run.u.post(of(made, "messages"), said), "message")
    with run.verdict("MEM-POST-02"):
        (await run.u.post(of(made, "messages"), said)).expect(200)
        (await run.b.post(of(made, "messages"), said)).expect(200)
        hook = await run.webhook(made["id"])
        answer = await run.n.post(f"/webhooks/{hook['id']}/messages", said, token=hook["token"])
        answer.expect(200)
    with run.verdict("MEM-POST-01"):
        async with run.listen(run.w) as observer:
            (await run.v.post(of(made, "messages"), said)).error(403)
            await run.fence(observer)
            require(not about(observer, made["id"]), f"it was refused, and told: {kinds(observer.events)}")
        (await run.v.post(f"/messages/{parent['id']}/thread", said)).expect(200)
        await add(run.u, made, run.w)
        (await run.w.post(of(made, "messages"), said)).error(403)
