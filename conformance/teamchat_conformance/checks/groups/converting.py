"""GRP-CONV, GRP-DENY: a group becomes a channel, and what a group has not (C-5, C-8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.groups._area import AT, area, group, people
from teamchat_conformance.checks.places import (
    Question,
    add,
    contents,
    listed,
    of,
    pages,
    roles,
)
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import require, told
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_NOT = (
    "DELETE /channels/:id, archive, privacy, roles, webhooks and `/admin/channels/:id/enter` of one: "
    "403 to those in it, 404 to others"
)


area.required(
    "GRP-CONV-01",
    "C-5",
    "Any member makes it a private channel with a name, and all are managers",
    words=["Converting is any member's (no guests), who becomes manager with all others"],
)
area.required(
    "GRP-CONV-02", "C-5", "All are told by UPDATE_CHANNEL", words=["everyone is told by UPDATE_CHANNEL"]
)
area.required(
    "GRP-CONV-03",
    "C-5",
    "It goes to public with history hide only",
    words=["to public only with `history: hide` (B-8)"],
)
area.required(
    "GRP-CONV-04", "C-5", "It never goes back: converting again is refused", words=["It never goes back"]
)
area.required(
    "GRP-CONV-05",
    "C-3",
    "Who is added then sees what was said before",
    words=["To share what was said too, convert first (C-5)"],
)
area.required(
    "GRP-DENY-01",
    "C-8",
    "Only the author edits or deletes a message: an admin in it gets 403, one outside 404",
    words=["only the author edits or deletes a message, admins included (as D-29)"],
)
area.required(
    "GRP-DENY-02",
    "C-8",
    "Deleting, archiving, privacy, roles, webhooks and entering are 403 to those in it",
    words=[_NOT],
)
area.required("GRP-DENY-03", "C-8", "The same are 404 to others", words=[_NOT])
area.required(
    "GRP-DENY-04",
    "B-12, C-8",
    "GET /admin/channels lists no group, and DELETE there is 404",
    words=["never kinds `group` and `notes`", "DELETE /admin/channels/:id of a group or of notes: 404"],
)


@area.scenario("GRP-CONV-01", "GRP-CONV-02", "GRP-CONV-03", "GRP-CONV-04", "GRP-CONV-05")
async def a_group_becomes_a_channel(run: Run) -> None:
    one, two, _ = await people(run, 3)
    made, name, word = await group(one, two, run.a), run.text("converted"), run.text()
    await run.post(one, str(made["id"]), word)
    convert = f"{AT}/{made['id']}/convert"
    async with run.listen(two) as member:
        with run.verdict("GRP-CONV-01"):
            (await one.post(convert, {})).error(400)
            changed = told(await one.post(convert, {"name": name}), "channel")
            run.undo_with("a channel", lambda: run.a.delete(at("admin", "channels", str(made["id"]))))
            found = {key: changed.get(key) for key in ("id", "name", "isPrivate")}
            require(found == {"id": made["id"], "name": name, "isPrivate": True}, f"it is {found}")
            require(changed.get("kind", "channel") == "channel", f"its kind is {changed.get('kind')}")
            require(set((await roles(two, made)).values()) == {"manager"}, "not all are managers")
            require(await contents(two, made) == [word], "what was said is not read")
        with run.verdict("GRP-CONV-02"):
            await member.expect("UPDATE_CHANNEL", id=made["id"], name=name, seconds=run.wait(5))
    with run.verdict("GRP-CONV-04"):
        answer = await one.post(convert, {"name": run.text("again")})
        answer.error(400, 403, 404)
    with run.verdict("GRP-CONV-05"):
        await add(two, made, run.v)
        require(await contents(run.v, made) == [word], "who was added does not read what was said before")
    if not run.announced.version("private-channels"):
        why = "the server does not announce private-channels"
        run.verdicts.put(Finding("GRP-CONV-03", "not-applicable", why))
        return
    with run.verdict("GRP-CONV-03"):
        path = of(made, "privacy")
        (await run.a.put(path, {"isPrivate": False, "history": "show"})).error(400)
        require(made["id"] not in await listed(run.w), "it was refused, and it is public")
        (await run.a.put(path, {"isPrivate": False, "history": "hide"})).expect(200)
        require(await contents(run.w, made) == [], "what was said in the group is read by others")


@area.scenario("GRP-DENY-01", "GRP-DENY-02", "GRP-DENY-03", "GRP-DENY-04")
async def what_groups_have_not(run: Run) -> None:
    one, two = await people(run, 2)
    made = await group(one, two, run.a)
    id = str(made["id"])
    said = str((await run.post(one, id))["id"])
    with run.verdict("GRP-DENY-01"):
        for who, status in ((two, 403), (run.a, 403), (run.b, 404)):
            (await who.put(f"/messages/{said}", {"content": "other"})).error(status)
            (await who.delete(f"/messages/{said}")).error(status)
        require(len(await contents(two, made)) == 1, "it was refused, and the message is gone")
    wanted = [
        Question("DELETE", "/channels/{}"),
        Question("PUT", "/channels/{}/privacy", {"isPrivate": False, "history": "hide"}),
        Question("PUT", f"/channels/{{}}/members/{two.user_id}", {"role": "manager"}),
        Question("POST", "/webhooks", {"name": run.text("bot")}, in_body="channelId"),
        Question("POST", "/admin/channels/{}/enter", {"reason": "why"}),
    ]
    if run.announced.version("archive"):
        wanted.append(Question("POST", "/channels/{}/archive"))
    if not run.announced.version("private-channels"):
        wanted = [
            question for question in wanted if "privacy" not in question.path and "admin" not in question.path
        ]
    for check, who, status in (("GRP-DENY-02", run.a, 403), ("GRP-DENY-03", run.b, 404)):
        with run.verdict(check):
            for question in wanted:
                (await question.ask(who, id)).error(status)
    with run.verdict("GRP-DENY-02"):
        for question in wanted[:3]:
            (await question.ask(one, id)).error(403)
        require(id in await listed(two), "it was refused, and the group is gone")
    with run.verdict("GRP-DENY-04"):
        if run.announced.version("private-channels"):
            everything = [row["id"] for row in await pages(run.b, "/admin/channels", "channels", limit=200)]
            require(id not in everything, "it is listed to admins")
            for who in (run.a, run.b):
                (await who.delete(at("admin", "channels", id))).error(404)
