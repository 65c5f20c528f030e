"""PRIV-CLOSE, PRIV-OPEN: a public channel becomes private, and a private one public (B-7, B-8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import (
    about,
    add,
    contents,
    kinds,
    like_nothing,
    listed,
    make_managed,
    make_private,
    make_public,
    of,
    of_channel,
    require_silence,
    roles,
    shown,
)
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.expect import require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_CLOSED = {"isPrivate": True}
_MAY = "to private: manager or admin; to public: admin who is a member"

area.required(
    "PRIV-CLOSE-01",
    "B-7",
    "Made private with members, those named and the caller are in it, and nobody else",
    words=["members are those named in `members` plus the caller"],
)
area.required(
    "PRIV-CLOSE-02",
    "B-7",
    "Without members, those who joined are in it",
    words=["or without it those who joined"],
)
area.required(
    "PRIV-CLOSE-03",
    "B-7",
    "A default channel without members is refused with 400",
    words=["a default channel without `members`: 400"],
)
area.required(
    "PRIV-CLOSE-04", "B", "A manager makes it private; a member who is none does not (403)", words=[_MAY]
)
area.required(
    "PRIV-CLOSE-05",
    "B-7",
    "Everyone else is told DELETE_CHANNEL with the reason private, and members UPDATE_CHANNEL",
    words=["Everyone else gets `DELETE_CHANNEL` with reason `private`"],
)
area.required(
    "PRIV-CLOSE-06",
    "B-7",
    "To everyone else it is at once as one that nobody ever had",
    words=["follow in the same transaction because they ask X-2"],
)
area.required(
    "PRIV-CLOSE-07",
    "X-5",
    "A resumed stream of who sees it no more repeats nothing that was said in it",
    words=["nor what was said in a public channel that has since become private"],
)
area.required(
    "PRIV-CLOSE-09",
    "X-5",
    "Nor does it when the channel has been deleted since",
    words=["nor what was said in a public channel that has since become private"],
)
area.required(
    "PRIV-CLOSE-08",
    "B-7",
    "Where no manager would remain, the caller is one",
    words=["If no manager would remain, the caller is one."],
)
area.required(
    "PRIV-OPEN-01",
    "B-8",
    "history is required: without it, or with another word, 400",
    words=["`history` is required, `show` or `hide`"],
)
area.required("PRIV-OPEN-02", "B", "A manager who is no admin does not make it public (403)", words=[_MAY])
area.required(
    "PRIV-OPEN-03",
    "B-8",
    "With show everybody reads all of it",
    words=["`history` is required, `show` or `hide`"],
)
area.required(
    "PRIV-OPEN-04",
    "B-8",
    "With hide others read what comes from then on, and members read what they did",
    words=["with `hide`, `publicFrom` is the next message, members keep their own bound"],
)
area.required(
    "PRIV-OPEN-05",
    "B-8",
    "Members are told UPDATE_CHANNEL, everyone else NEW_CHANNEL",
    words=["Every member is told by UPDATE_CHANNEL"],
)
area.required(
    "PRIV-OPEN-06",
    "B-4",
    "A name that a public channel has is refused with 400",
    words=["Renaming or converting to a public name that is taken: 400."],
)
area.recommended("PRIV-OPEN-07", "D-02", "isPrivate that is no boolean is refused with 400")


@area.scenario("PRIV-CLOSE-01", "PRIV-CLOSE-05", "PRIV-CLOSE-06", "PRIV-CLOSE-07", "PRIV-CLOSE-09")
async def a_channel_becomes_private(run: Run) -> None:
    made = await make_public(run, run.w, isDefault=True)
    id, word = str(made["id"]), run.text("said in public")
    async with run.listen(run.w, query="lastEventId=") as before:
        await run.fence(before)
    early = str((await run.post(run.u, id, word))["id"])
    async with run.listen(run.w) as other, run.listen(run.u) as member:
        with run.verdict("PRIV-CLOSE-01"):
            body = {**_CLOSED, "members": [run.u.user_id]}
            changed = told(await run.a.put(of(made, "privacy"), body), "channel")
            require(changed.get("isPrivate") is True, "it does not say that it is private")
            wanted = {run.a.user_id, run.u.user_id}
            require((await roles(run.u, made)).keys() == wanted, "others than those named are in it")
            require(word in await contents(run.u, made), "a member does not read what was said before")
        late = str((await run.post(run.u, id))["id"])
        await run.fence(other, member)
        with run.verdict("PRIV-CLOSE-05"):
            gone = [event.payload.get("reason") for event in other.since(0, "DELETE_CHANNEL", id=id)]
            require(gone == ["private"], f"the reasons of DELETE_CHANNEL are {gone}")
            require_silence(other, late)
            require(member.since(0, "UPDATE_CHANNEL", id=id, isPrivate=True), "a member is not told")
            require(not member.since(0, "DELETE_CHANNEL", id=id), "a member is told that it is gone")
    with run.verdict("PRIV-CLOSE-06"):
        for who in (run.w, run.b):
            require(id not in await listed(who), f"it is listed to {who.actor}")
            for question in of_channel(run):
                if question.method == "GET":
                    await like_nothing(who, question, id)
    with run.verdict("PRIV-CLOSE-07"):
        async with run.listen(run.w, query=f"lastEventId={before.last_id}") as resumed:
            await run.fence(resumed)
            require_silence(resumed, word, early, late)
            came = [kind for kind in kinds(about(resumed, id)) if kind != "DELETE_CHANNEL"]
            require(not came, f"it is told {', '.join(came)}")
    (await run.a.delete(of(made))).expect(200)
    with run.verdict("PRIV-CLOSE-09"):
        async with run.listen(run.w, query=f"lastEventId={before.last_id}") as resumed:
            await run.fence(resumed)
            require_silence(resumed, word, early, late)
            came = [kind for kind in kinds(about(resumed, id)) if kind != "DELETE_CHANNEL"]
            require(not came, f"it is told {', '.join(came)}")


@area.scenario("PRIV-CLOSE-02", "PRIV-CLOSE-03", "PRIV-CLOSE-04", "PRIV-CLOSE-08", "PRIV-OPEN-07")
async def a_manager_makes_it_private(run: Run) -> None:
    made = await make_managed(run, run.u, run.v)
    with run.verdict("PRIV-CLOSE-04"):
        for who in (run.v, run.w):
            (await who.put(of(made, "privacy"), _CLOSED)).error(403)
        require(made["id"] in await listed(run.w), "it was refused, and it is private")
    with run.verdict("PRIV-OPEN-07"):
        for body in ({}, {"isPrivate": "yes"}, {"isPrivate": None}):
            (await run.u.put(of(made, "privacy"), body)).error(400)
    with run.verdict("PRIV-CLOSE-02"):
        (await run.u.put(of(made, "privacy"), _CLOSED)).expect(200)
        wanted = {run.u.user_id: "manager", run.v.user_id: "member"}
        require(await roles(run.v, made) == wanted, "others than those who had joined are in it")
        require(made["id"] not in await listed(run.w), "who had not joined sees it")
    with run.verdict("PRIV-CLOSE-03"):
        default = await make_public(run, isDefault=True)
        (await run.a.put(of(default, "privacy"), _CLOSED)).error(400)
        require(default["id"] in await listed(run.w), "it was refused, and it is private")
    with run.verdict("PRIV-CLOSE-08"):
        other = await make_managed(run, run.u, run.v)
        (await run.b.put(of(other, "privacy"), {**_CLOSED, "members": [run.v.user_id]})).expect(200)
        wanted = {run.b.user_id: "manager", run.v.user_id: "member"}
        require(await roles(run.v, other) == wanted, "the caller is not its one manager")


@area.scenario("PRIV-OPEN-01", "PRIV-OPEN-02", "PRIV-OPEN-03", "PRIV-OPEN-05", "PRIV-OPEN-06")
async def a_channel_becomes_public(run: Run) -> None:
    made = await make_private(run, run.u, run.a)
    path, word = of(made, "privacy"), run.text("said in private")
    await run.post(run.u, str(made["id"]), word)
    shows = {"isPrivate": False, "history": "show"}
    with run.verdict("PRIV-OPEN-01"):
        for body in ({"isPrivate": False}, {**shows, "history": "some"}, {**shows, "history": 1}):
            (await run.a.put(path, body)).error(400)
    with run.verdict("PRIV-OPEN-02"):
        (await run.u.put(path, shows)).error(403)
        require(made["id"] not in await listed(run.w), "it was refused, and it is public")
    with run.verdict("PRIV-OPEN-06"):
        taken = await make_public(run)
        (await run.a.put(of(made), {"name": taken["name"]})).expect(200)
        (await run.a.put(path, shows)).error(400)
        require(made["id"] not in await listed(run.w), "it was refused, and it is public")
    (await run.a.put(of(made), {"name": run.text("free")})).expect(200)
    async with run.listen(run.w) as other, run.listen(run.u) as member:
        with run.verdict("PRIV-OPEN-03"):
            (await run.a.put(path, shows)).expect(200)
            require(not (await shown(run.w, made)).get("isPrivate"), "it is private still")
            require(word in await contents(run.w, made), "what was said before is not read")
        await run.fence(other, member)
        with run.verdict("PRIV-OPEN-05"):
            require(len(other.since(0, "NEW_CHANNEL", id=made["id"])) == 1, "NEW_CHANNEL did not come once")
            require(member.since(0, "UPDATE_CHANNEL", id=made["id"], isPrivate=False), "a member is not told")
            require(not member.since(0, "NEW_CHANNEL", id=made["id"]), "a member is told that it is new")


@area.scenario("PRIV-OPEN-04")
async def a_channel_becomes_public_without_its_history(run: Run) -> None:
    made = await make_private(run, run.u, run.a)
    early, late = run.text("before"), run.text("after")
    parent = str((await run.post(run.u, str(made["id"]), early))["id"])
    (await run.a.put(of(made, "privacy"), {"isPrivate": False, "history": "hide"})).expect(200)
    await run.post(run.u, str(made["id"]), late)
    with run.verdict("PRIV-OPEN-04"):
        for who in (run.w, run.b):
            require(await contents(who, made) == [late], f"{who.actor} does not read what came after alone")
            (await who.get(f"/messages/{parent}/thread")).error(404)
        for who in (run.u, run.a):
            require(
                await contents(who, made) == [early, late], f"{who.actor} was in it, and does not read all"
            )
        await add(run.u, made, run.v)
        require(await contents(run.v, made) == [late], "who joins later reads what was hidden")
