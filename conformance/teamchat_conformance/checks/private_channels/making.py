"""PRIV-MAKE, PRIV-NAME, PRIV-SEE, PRIV-INV, PRIV-LAST: making private channels, and who is in them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import (
    CHANNEL,
    MEMBER,
    add,
    forget,
    listed,
    make_private,
    make_public,
    member_at,
    of,
    pages,
    roles,
    shown,
)
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.checks.steps import at, unknown, wrong_values
from teamchat_conformance.expect import array, require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_AT = "/private-channels"
_TAKES = "members (≤ 200 user ids) → channel with `members`"
_HEIR = "When the last manager leaves, is removed or deactivated, the member of longest standing"

area.required(
    "PRIV-MAKE-01",
    "B",
    "A private channel is made with its members, and says that it is private",
    words=['/private-channels answers `{"channel": {…, "members": [Member]}}`'],
)
area.required(
    "PRIV-MAKE-02",
    "B",
    "What is not given is postPolicy everyone, invitePolicy members, historyFor all",
    words=["Defaults: `postPolicy` `everyone`, `invitePolicy` `members`, `historyFor` `all`."],
)
area.required(
    "PRIV-MAKE-03",
    "B",
    "An unknown user among members is answered 404, and nothing is made",
    words=["an unknown user among `members` or `userIds`: 404, and nothing is done"],
)
area.required("PRIV-MAKE-04", "B", "More than 200 members are refused with 400", words=[_TAKES])
area.required(
    "PRIV-MAKE-05",
    "X-12",
    "A topic of 251 characters and a description of 2,001 are refused with 400",
    words=["Topic ≤ 250, description ≤ 2,000"],
)
area.recommended("PRIV-MAKE-06", "D-02", "Fields of another type or of an unknown value are refused with 400")
area.required(
    "PRIV-MAKE-07",
    "X-13",
    "The same Idempotency-Key again answers the same, and makes one channel",
    words=["D-07b holds on every new POST that creates something."],
)
area.required(
    "PRIV-MAKE-08",
    "B",
    "POST /channels with isPrivate true makes nothing that others see",
    words=["`isPrivate: true` is honoured as below, never ignored"],
)
area.required(
    "PRIV-MAKE-09",
    "B",
    "Who may make private channels is told so at GET /me, and who is not told so may not (403)",
    words=["everyone if `chat.privateChannelsBy` is `everyone` (default), else admin"],
)
area.required(
    "PRIV-NAME-01",
    "B-4",
    "A private channel takes the name of any other",
    words=["A private channel's name may equal any other"],
)
area.required(
    "PRIV-NAME-02",
    "B-4",
    "A public channel takes the name of a private one, as if that were not there",
    words=["so a refused name never tells of a hidden channel"],
)
area.required(
    "PRIV-SEE-01",
    "B-2",
    "Members see it at once, listed and by its id",
    words=["Who is added becomes a member at once"],
)
area.required(
    "PRIV-SEE-02",
    "X-3",
    "It is in no list of who is not in it, admins included, and no count says so",
    words=["Lists omit it, counts and limits do not include it"],
)
area.required(
    "PRIV-INV-01",
    "B",
    "With invitePolicy members every member adds people",
    words=["private: by invitePolicy"],
)
area.required(
    "PRIV-INV-02",
    "B",
    "With invitePolicy managers a member adds nobody (403), and a manager does",
    words=["`invitePolicy: managers` binds everybody else"],
)
area.required(
    "PRIV-LAST-01", "B-3", "When the last manager leaves, who is longest in it becomes manager", words=[_HEIR]
)
area.required(
    "PRIV-LAST-02",
    "B-5",
    "When the last member leaves, it is archived, and GET /admin/channels alone shows it",
    words=["it is archived, keeps everything, and only `/admin/channels` shows it"],
)


@area.scenario("PRIV-MAKE-01", "PRIV-MAKE-02", "PRIV-SEE-01", "PRIV-SEE-02")
async def a_private_channel_is_made(run: Run) -> None:
    given = {"topic": run.text("topic"), "description": run.text("description")}
    made = await make_private(run, run.u, run.v, **given)
    with run.verdict("PRIV-MAKE-01"):
        require(made.get("isPrivate") is True, "it does not say that it is private")
        require({key: made.get(key) for key in given} == given, f"it was made with {given}, and is {made}")
        members = {one["userId"]: one["role"] for one in made["members"]}
        wanted = {run.u.user_id: "manager", run.v.user_id: "member"}
        require(members == wanted, f"its members are {members}, and not {wanted}")
        listing = (await run.u.get(of(made, "members"))).shape({"members": array(MEMBER)})
        require(
            {one["userId"] for one in listing["members"]} == wanted.keys(), "others are listed as its members"
        )
    with run.verdict("PRIV-MAKE-02"):
        wanted = {"postPolicy": "everyone", "invitePolicy": "members", "historyFor": "all"}
        one = await shown(run.u, made)
        found = {key: one.get(key, value) for key, value in wanted.items()}
        require(found == wanted, f"not given, they are {found}")
    with run.verdict("PRIV-SEE-01"):
        for who, role in ((run.u, "manager"), (run.v, "member")):
            require(made["id"] in await listed(who), f"it is not listed to {who.actor}")
            require(made["id"] in await listed(who, joined="true"), f"{who.actor} has not joined it")
            one = (await who.get(of(made))).shape({"channel": CHANNEL})["channel"]
            own = {key: one.get(key) for key in ("isPrivate", "isMember", "role", "memberCount")}
            wanted_own = {"isPrivate": True, "isMember": True, "role": role, "memberCount": 2}
            require(own == wanted_own, f"to {who.actor} it is {own}")
    with run.verdict("PRIV-SEE-02"):
        for outsider in (run.w, run.a):
            for query in ({}, {"joined": "true"}, {"archived": "no"}, {"archived": "only"}):
                answer = await outsider.get(at("channels", **query))
                answer.expect(200)
                require(str(made["id"]).encode() not in answer.body, f"it is listed to {outsider.actor}")
                require(given["topic"].encode() not in answer.body, f"its topic is told to {outsider.actor}")


@area.scenario("PRIV-MAKE-03", "PRIV-MAKE-04", "PRIV-MAKE-05", "PRIV-MAKE-06")
async def what_is_no_private_channel(run: Run) -> None:
    gone = await run.new_user(name="somebody removed")
    (await run.a.delete(at("users", gone.user_id))).expect(200)
    with run.verdict("PRIV-MAKE-03"):
        for id in (unknown(run), gone.user_id):
            name = run.text("never")
            (await run.u.post(_AT, {"name": name, "members": [run.v.user_id, id]})).error(404)
            answer = await run.v.get("/channels")
            require(name.encode() not in answer.body, "it was refused, and there is a channel")
    with run.verdict("PRIV-MAKE-04"):
        many = [f"unknown-{number}" for number in range(201)]
        (await run.u.post(_AT, {"name": run.text(), "members": many})).error(400)
    with run.verdict("PRIV-MAKE-05"):
        for field, most in (("topic", 250), ("description", 2_000)):
            (await run.u.post(_AT, {"name": run.text(), field: "x" * (most + 1)})).error(400)
        made = await make_private(run, run.u, topic="é" * 250, description="é" * 2_000)
        require(made.get("topic") == "é" * 250, "a topic of 250 characters is another")
    with run.verdict("PRIV-MAKE-06"):
        bad: list[dict[str, Any]] = [
            {"members": run.v.user_id}, {"members": [1]}, {"historyFor": "nobody"}, {"invitePolicy": "all"},
            {"postPolicy": 1},
        ]  # fmt: skip
        for body in ({}, *wrong_values("name"), *({"name": run.text(), **one} for one in bad)):
            (await run.u.post(_AT, body)).error(400)


@area.scenario("PRIV-MAKE-07", "PRIV-MAKE-08", "PRIV-MAKE-09", "PRIV-NAME-01", "PRIV-NAME-02")
async def names_and_keys(run: Run) -> None:
    body = {"name": run.text("private"), "members": [run.v.user_id]}
    with run.verdict("PRIV-MAKE-07"):
        key = {"Idempotency-Key": secrets.token_hex(16)}
        made = [told(await run.u.post(_AT, body, headers=key), "channel") for _ in range(2)]
        for one in made:
            forget(run, one["id"])
        require(made[0]["id"] == made[1]["id"], "the same key made another channel")
        (await run.u.post(_AT, {**body, "name": run.text()}, headers=key)).error(400)
    with run.verdict("PRIV-NAME-01"):
        public = await make_public(run)
        for name in (str(public["name"]), body["name"]):
            again = await make_private(run, run.w, name=name)
            require(again["name"] == name, f"it was to be {name}, and is {again['name']}")
    with run.verdict("PRIV-NAME-02"):
        free = await make_private(run, run.u)
        taken = await make_public(run, name=free["name"])
        require(taken["name"] == free["name"], "the name is another")
        other = await make_private(run, run.u)
        (await run.a.put(of(taken), {"name": other["name"]})).expect(200)
    with run.verdict("PRIV-MAKE-08"):
        answer = await run.a.post("/channels", {"name": run.text(), "isPrivate": True})
        if answer.status == 200:
            forget(run, str(answer.json["channel"]["id"]))
            require(answer.json["channel"].get("isPrivate") is True, "it is not private")
            require(answer.json["channel"]["id"] not in await listed(run.u), "others see it")
        else:
            answer.error(400, 403)
    with run.verdict("PRIV-MAKE-09"):
        for who in (run.u, run.a):
            may = "create-private-channels" in (await who.get("/me")).ok()["may"]
            answer = await who.post(_AT, {"name": run.text()})
            if answer.status == 200:
                forget(run, str(answer.json["channel"]["id"]))
            answer.expect(200 if may else 403)


@area.scenario("PRIV-INV-01", "PRIV-INV-02", "PRIV-LAST-01", "PRIV-LAST-02")
async def who_adds_and_who_follows(run: Run) -> None:
    made = await make_private(run, run.u, run.v)
    with run.verdict("PRIV-INV-01"):
        told_of = await add(run.v, made, run.w)
        require(told_of["added"] == [run.w.user_id], f"added is {told_of['added']}")
        require((await roles(run.w, made))[run.w.user_id] == "member", "who was added is no member")
    with run.verdict("PRIV-INV-02"):
        (await run.u.put(of(made), {"invitePolicy": "managers"})).expect(200)
        (await run.v.post(of(made, "members"), {"userIds": [run.b.user_id]})).error(403)
        require(run.b.user_id not in await roles(run.u, made), "it was refused, and they are in it")
        require((await add(run.u, made, run.b))["added"] == [run.b.user_id], "a manager has added nobody")
        (await run.b.delete(member_at(made, run.b))).expect(200)
    with run.verdict("PRIV-LAST-01"):
        (await run.u.post(of(made, "leave"))).expect(200)
        wanted = {run.v.user_id: "manager", run.w.user_id: "member"}
        require(await roles(run.w, made) == wanted, "who is longest in it is not the manager now")
    with run.verdict("PRIV-LAST-02"):
        for one in (run.v, run.w):
            (await one.post(of(made, "leave"))).expect(200)
        for one in (run.u, run.v, run.w, run.a):
            require(made["id"] not in await listed(one), f"it is listed to {one.actor}")
        found = {one["id"]: one for one in await pages(run.a, "/admin/channels", "channels", limit=200)}
        require(made["id"] in found, "GET /admin/channels does not show it")
        require(found[made["id"]].get("isArchived") is True, "it is not archived")
        require(found[made["id"]].get("memberCount") == 0, "somebody is counted as a member")
