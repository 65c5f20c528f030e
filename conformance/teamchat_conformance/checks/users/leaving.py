"""USER-DEL, USER-EXIT: how users go, and what stays of them.

Whoever goes was made for it; what could leave a server without admins is in `admins`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import (
    at,
    ids,
    is_gone,
    item,
    items,
    messages,
    messages_at,
    summary,
    thread,
    unknown,
)
from teamchat_conformance.checks.users._area import add, area, listed
from teamchat_conformance.expect import require, text
from teamchat_conformance.run import PASSWORD
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

area.required("USER-DEL-01", "§4 Users", "An admin removes a user: success, and they are not listed")
area.required("USER-DEL-03", "§4 Users", "An admin removes another admin, and stays one")
area.required("USER-DEL-05", "§7", "Removing whom there is not, or no longer, is refused with 404")
area.required("USER-DEL-06", "§5 rule 10", "Who was removed can't sign in again", "invite")
area.recommended("USER-DEL-07", "D-22", "What a removed user wrote stays, under their last name")
area.recommended("USER-DEL-08", "D-22", "Removing oneself is refused with 400")
area.recommended("USER-DEL-09", "D-22", "A removed user's stream ends")
area.recorded("USER-DEL-10", "§4 Users", "Whether an email added again gets a new id")
area.required(
    "USER-EXIT-01", "§4 Users", "POST /users/exit answers success and a message; who left is not listed"
)
area.required("USER-EXIT-03", "§4 Users", "An admin may leave while there is another")
area.required("USER-EXIT-05", "D-22", "Who has left can do nothing with the old token")


@area.scenario("USER-DEL-01", "USER-DEL-03", "USER-DEL-05", "USER-DEL-06", "USER-DEL-09", "USER-DEL-10")
async def admins_remove_users(run: Run) -> None:
    someone = await run.new_user()
    async with run.listen(someone) as stream:
        with run.verdict("USER-DEL-01"):
            (await run.a.delete(at("users", someone.user_id))).expect(200).shape({"success": True})
            require(await listed(run, someone.email) == [], "a removed user is still listed")
        with run.verdict("USER-DEL-09"):
            await stream.ended(run.wait(5))
    with run.verdict("USER-DEL-05"):
        for gone in (unknown(run), someone.user_id):
            is_gone(await run.a.delete(at("users", gone)))
    if run.has("invite"):
        with run.verdict("USER-DEL-06"):
            await is_kept_out(run, someone)
    with run.verdict("USER-DEL-03"):
        admin = await run.new_user("admin", name="another admin")
        (await run.a.delete(at("users", admin.user_id))).expect(200).shape({"success": True})
        require(await listed(run, admin.email) == [], "a removed admin is still listed")
        (await run.a.get("/auth/me")).expect(200).shape({"user": {"isAdmin": True}})
    again = await add(run, someone.email)
    new = again.json.get("userId") if again.status == 200 and isinstance(again.json, dict) else None
    seen = "the old id" if new == someone.user_id else "a new id"
    run.record("USER-DEL-10", seen if new else summary(again))


async def is_kept_out(run: Run, someone: Actor) -> None:
    """Require that someone can't sign in by the instance's way."""
    email, password = someone.email, someone.password
    if run.has("dev"):
        (await run.n.post("/auth/dev-login", {"email": email})).error(401, accept=(400, 403, 404))
    elif run.has("pw"):
        body = {"email": email, "password": password or PASSWORD}
        (await run.from_elsewhere().post("/auth/password-login", body)).error(401)
    else:
        await _gets_no_link(run, email)


async def _gets_no_link(run: Run, email: str) -> None:
    if run.sink is None:
        raise Miss("the suite has no sink for mail")
    mark = run.sink.mark()
    (await run.n.post("/auth/login", {"email": email})).expect(200)
    (await run.n.post("/auth/login", {"email": run.u.email})).expect(200)
    await run.sink.wait(run.u.email, since=mark, seconds=run.wait(run.instance.mail.timeout))
    await run.sink.none(email, since=mark)


@area.scenario("USER-DEL-07")
async def what_stays_of_a_user(run: Run) -> None:
    someone = await run.new_user()
    name = run.text("gone")
    (await someone.put("/users/me", {"userName": name})).expect(200)
    channel = await run.channel()
    posted = await run.post(someone, channel)
    parent = await run.post(run.u, channel)
    reply = (await run.reply(someone, parent["id"]))["reply"]
    talk = await run.conversation(run.u, someone)
    direct = await run.direct(someone, talk)
    (await run.u.post(at("messages", parent["id"], "reactions"), {"reaction": "ok"})).expect(200)
    (await run.a.delete(at("users", someone.user_id))).expect(200)
    with run.verdict("USER-DEL-07"):
        lists = {
            posted["id"]: await messages(run.u, channel),
            reply["id"]: await thread(run.u, parent["id"]),
            direct["id"]: await items(run.u, at("conversations", talk, "messages"), "messages"),
        }
        for id, listed_now in lists.items():
            require(id in ids(listed_now), "something a removed user wrote is gone")
            author = next(one["author"] for one in listed_now if one["id"] == id)
            require(author["userName"] == name, f"what a removed user wrote bears {author['userName']!r}")
        await item(run.u, "/conversations", "conversations", talk)


@area.scenario("USER-DEL-08")
async def nobody_removes_oneself(run: Run) -> None:
    admin = await run.new_user("admin", name="another admin")
    with run.verdict("USER-DEL-08") as finding:
        answer = await admin.delete(at("users", admin.user_id))
        finding.value = summary(answer)
        answer.error(400)
        require(len(await listed(run, admin.email)) == 1, "who was not removed is not listed")


@area.scenario("USER-EXIT-01", "USER-EXIT-03", "USER-EXIT-05")
async def users_leave(run: Run) -> None:
    someone = await run.new_user()
    channel = await run.channel()
    with run.verdict("USER-EXIT-01"):
        answer = await someone.post("/users/exit")
        answer.expect(200).shape({"success": True, "message": text})
        require(await listed(run, someone.email) == [], "who left is still listed")
    with run.verdict("USER-EXIT-03"):
        admin = await run.new_user("admin", name="another admin")
        (await admin.post("/users/exit")).expect(200).shape({"success": True})
        require(await listed(run, admin.email) == [], "an admin who left is still listed")
    answer.expect(200)
    with run.verdict("USER-EXIT-05"):
        for method, target in (("GET", "/auth/me"), ("POST", "/users/exit"), ("POST", messages_at(channel))):
            answer = await run.n.ask(method, target, {"content": run.text()}, token=someone.token)
            answer.error(401)
