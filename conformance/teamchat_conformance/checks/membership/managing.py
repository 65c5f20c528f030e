"""MEM-MAN, MEM-LAST: managers of a channel, and who follows the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.membership._area import area
from teamchat_conformance.checks.places import MEMBER, add, make_managed, member_at, of, roles, shown
from teamchat_conformance.checks.steps import at, unknown
from teamchat_conformance.expect import require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MAY = "| PUT | /channels/:channelId/members/:userId | manager, admin who sees it | role → member |"
_HEIR = "When the last manager leaves, is removed or deactivated, the member of longest standing"

area.required("MEM-MAN-01", "B", "A manager makes a member manager, and an admin does", words=[_MAY])
area.required("MEM-MAN-02", "B", "A member who is no manager changes no role (403)", words=[_MAY])
area.recommended(
    "MEM-MAN-03", "D-03", "The role of who is not in the channel is 404, and an unknown role 400"
)
area.required(
    "MEM-MAN-04",
    "B-3",
    "A manager does not lower another (403), and an admin does",
    words=["lowering another manager counts as removing one"],
)
area.required(
    "MEM-MAN-05",
    "B-3",
    "The last manager lowering themself is refused with 400",
    words=["the last manager lowering themself: 400"],
)
area.required(
    "MEM-LAST-01", "B-3", "When the last manager leaves, who is longest in it becomes manager", words=[_HEIR]
)
area.required(
    "MEM-LAST-02",
    "B-3",
    "When the last manager is removed, who is longest in it becomes manager",
    words=[_HEIR],
)
area.required(
    "MEM-LAST-03",
    "B, B-3",
    "When the last manager's account is removed, who is longest in it becomes manager",
    words=["`DELETE /users/:id` and `exit` end memberships and pass on managership in the same transaction"],
)
area.required(
    "MEM-LAST-04",
    "B-3",
    "While another manager is there, nobody becomes one",
    words=["When the last manager leaves"],
)
area.required(
    "MEM-LAST-05",
    "B-3",
    "When the last manager is deactivated, who is longest in it becomes manager",
    words=[_HEIR],
)
area.required(
    "MEM-LAST-06",
    "B-3",
    "No bot becomes manager by itself, however long it is in it",
    words=["who is no guest and no bot becomes manager"],
)


@area.scenario("MEM-MAN-01", "MEM-MAN-02", "MEM-MAN-03", "MEM-MAN-04", "MEM-MAN-05")
async def roles_are_changed(run: Run) -> None:
    made = await make_managed(run, run.u, run.v, run.w)
    up, down = {"role": "manager"}, {"role": "member"}
    with run.verdict("MEM-MAN-05"):
        (await run.u.put(member_at(made, run.u), down)).error(400)
        require(
            (await shown(run.u, made)).get("role") == "manager", "it was refused, and there is no manager"
        )
    with run.verdict("MEM-MAN-02"):
        (await run.v.put(member_at(made, run.v), up)).error(403)
        (await run.v.put(member_at(made, run.u), down)).error(403)
        require((await roles(run.v, made))[run.v.user_id] == "member", "it was refused, and they are manager")
    with run.verdict("MEM-MAN-01"):
        for by, whom in ((run.u, run.v), (run.b, run.w)):
            member = (await by.put(member_at(made, whom), up)).shape({"member": MEMBER})["member"]
            require((member["userId"], member["role"]) == (whom.user_id, "manager"), f"it answers {member}")
            require((await shown(whom, made)).get("role") == "manager", "who was made manager is none")
    with run.verdict("MEM-MAN-04"):
        (await run.u.put(member_at(made, run.v), down)).error(403)
        require((await roles(run.u, made))[run.v.user_id] == "manager", "a manager has lowered another")
        (await run.b.put(member_at(made, run.v), down)).expect(200)
        (await run.w.put(member_at(made, run.w), down)).expect(200)
        found = await roles(run.u, made)
        require(found[run.v.user_id] == found[run.w.user_id] == "member", "who was lowered is manager still")
    with run.verdict("MEM-MAN-03"):
        (await run.u.put(member_at(made, run.b), up)).error(404)
        (await run.u.put(of(made, "members", unknown(run)), up)).error(404)
        for body in ({"role": "owner"}, {"role": 1}, {}):
            (await run.u.put(member_at(made, run.v), body)).error(400)


@area.scenario("MEM-LAST-01", "MEM-LAST-02", "MEM-LAST-03", "MEM-LAST-04")
async def managers_follow_each_other(run: Run) -> None:
    made = await make_managed(run, run.u)
    leaver, oldest = await run.new_user(name="an heir"), await run.new_user(name="an heir of later")
    for one in (leaver, oldest, run.v):
        await add(run.u, made, one)
    with run.verdict("MEM-LAST-01"):
        (await run.u.post(of(made, "leave"))).expect(200)
        wanted = {leaver.user_id: "manager", oldest.user_id: "member", run.v.user_id: "member"}
        require(await roles(run.w, made) == wanted, "who is longest in it is not the manager now")
    with run.verdict("MEM-LAST-04"):
        (await leaver.put(member_at(made, run.v), {"role": "manager"})).expect(200)
        (await run.b.delete(at("users", leaver.user_id))).expect(200)
        found = await roles(run.w, made)
        require(leaver.user_id not in found, "somebody is a member whose account was removed")
        require(found[oldest.user_id] == "member", "there was a manager, and somebody has become one")
    with run.verdict("MEM-LAST-02"):
        await add(run.v, made, run.w)
        (await run.b.delete(member_at(made, run.v))).expect(200)
        wanted = {oldest.user_id: "manager", run.w.user_id: "member"}
        require(await roles(run.w, made) == wanted, "who is longest in it is not the manager now")
    with run.verdict("MEM-LAST-03"):
        (await run.b.delete(at("users", oldest.user_id))).expect(200)
        require(await roles(run.w, made) == {run.w.user_id: "manager"}, "the last one is not the manager now")


@area.scenario("MEM-LAST-05", "MEM-LAST-06")
async def a_manager_is_shut_out(run: Run) -> None:
    """Deactivate the manager of a channel, in which a bot, where there are any, is longer than anybody."""
    made, manager = await make_managed(run, run.u), await run.new_user(name="a manager")
    bot = await _bot(run)
    if bot:
        (await run.u.post(of(made, "members"), {"userIds": [bot]})).expect(200)
    for one in (manager, run.v, run.w):
        await add(run.u, made, one)
    (await run.u.put(member_at(made, manager), {"role": "manager"})).expect(200)
    (await run.u.post(of(made, "leave"))).expect(200)
    with run.verdict("MEM-LAST-05"):
        if run.announced.version("deactivation"):
            (await run.a.post(at("users", manager.user_id, "deactivate"))).expect(200)
        else:
            (await run.a.delete(at("users", manager.user_id))).expect(200)
        found = await roles(run.w, made)
        require(
            (found[run.v.user_id], found[run.w.user_id]) == ("manager", "member"),
            "who is longest in it is not the manager now",
        )
    with run.verdict("MEM-LAST-06"):
        require(not bot or found[bot] == "member", "a bot has become manager by itself")


async def _bot(run: Run) -> str:
    """Make a bot and return its id; an empty text where there are none."""
    if not run.announced.version("bots"):
        return ""
    bot = str(told(await run.a.post("/bots", {"userName": run.text("bot")}), "bot")["id"])
    run.undo_with(f"bot {bot}", lambda: run.a.delete(at("bots", bot)))
    return bot
