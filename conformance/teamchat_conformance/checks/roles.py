"""ROLE: who is admin (extensions, part L, capability roles)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import FIELDS
from teamchat_conformance.checks.steps import at, items, unknown
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.expect import require, text
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

_ROW = "role: `admin`, `user`, `guest` → user; the last admin stays |"
area = Area(
    "ROLE",
    "Roles of users",
    capability="roles",
    endpoints=(
        Endpoint(
            "PUT", "/users/:id/role", admin_only=True, fields=(Field("role"),),
            known={"user": dict.fromkeys(["id", "userName", "email", "isAdmin", "createdAt", "role"])},
        ),
    ),
    fields=FIELDS | {"role", "isAdmin", "email", "isGuest"},
)  # fmt: skip
area.required("ROLE-PUT-01", "L", "An admin makes a user admin, and an admin a user", words=[_ROW])
area.required(
    "ROLE-PUT-02",
    "L",
    "Who has become admin may at once what admins may, and who is none any more may not",
    words=[_ROW],
)
area.required("ROLE-PUT-03", "L", "Who is no admin changes no role (403), their own included", words=[_ROW])
area.recommended("ROLE-PUT-04", "D-03", "A user who is not there is 404, and an unknown role 400")
area.required(
    "ROLE-PUT-05",
    "L",
    "role guest is refused with 400 where guests is not announced",
    words=["`role: guest` where `guests` is not announced: 400"],
)
area.required(
    "ROLE-PUT-06",
    "L",
    "The last admin stays: made a user they are refused with 400",
    "exclusive",
    words=["the last admin stays"],
)
area.required(
    "ROLE-TOLD-01", "L-7", "Everyone is told UPDATE_USER", words=["UPDATE_USER, to who sees the thing"]
)
area.recommended("ROLE-SAME-01", "L", "The same role again answers 200, and nobody is told")


async def _put(by: Actor, id: str, role: object) -> Answered:
    return await by.put(at("users", id, "role"), {"role": role})


@area.scenario(
    "ROLE-PUT-01", "ROLE-PUT-02", "ROLE-PUT-03", "ROLE-PUT-04", "ROLE-PUT-05", "ROLE-TOLD-01", "ROLE-SAME-01"
)
async def roles_are_changed(run: Run) -> None:
    one = await run.new_user(name="who is promoted")
    with run.verdict("ROLE-PUT-03"):
        for whom in (one.user_id, run.a.user_id):
            (await _put(one, whom, "admin")).error(403)
        (await one.put(at("users", one.user_id, "role"), {})).error(403)
        (await run.n.put(at("users", one.user_id, "role"), {"role": "admin"})).error(401)
        require(not (await one.get("/auth/me")).ok()["user"]["isAdmin"], "it was refused, and they are admin")
    async with run.listen(run.w) as observer:
        for role, is_admin in (("admin", True), ("user", False)):
            mark = observer.mark()
            with run.verdict("ROLE-PUT-01"):
                wanted = {"id": one.user_id, "userName": text, "isAdmin": is_admin}
                (await _put(run.a, one.user_id, role)).shape({"user": wanted})
                there = {user["id"]: user["isAdmin"] for user in await items(run.u, "/users", "users")}
                require(there[one.user_id] is is_admin, f"GET /users says isAdmin {there[one.user_id]}")
            with run.verdict("ROLE-PUT-02"):
                require(
                    (await one.get("/auth/me")).ok()["user"]["isAdmin"] is is_admin, "they are told otherwise"
                )
                (await one.get("/webhooks")).expect(200 if is_admin else 403)
            with run.verdict("ROLE-TOLD-01"):
                await observer.expect("UPDATE_USER", id=one.user_id, since=mark, seconds=run.wait(5))
        with run.verdict("ROLE-SAME-01"):
            await run.fence(observer)
            mark = observer.mark()
            (await _put(run.a, one.user_id, "user")).expect(200)
            await run.fence(observer)
            require(not observer.since(mark, "UPDATE_USER"), "nothing has changed, and it was told")
    with run.verdict("ROLE-PUT-04"):
        (await _put(run.a, unknown(run), "admin")).error(404)
        for bad in ("owner", "", 1, None):
            (await _put(run.a, one.user_id, bad)).error(400)
    with run.verdict("ROLE-PUT-05"):
        if not run.announced.version("guests"):
            (await _put(run.a, one.user_id, "guest")).error(400)
        require(not (await one.get("/auth/me")).ok()["user"]["isAdmin"], "they are admin")


@area.scenario("ROLE-PUT-06")
async def the_last_admin_stays(run: Run) -> None:
    admins = [user["id"] for user in await items(run.a, "/users", "users") if user["isAdmin"]]
    others = [id for id in admins if id != run.a.user_id]
    with run.verdict("ROLE-PUT-06"):
        try:
            for id in others:
                (await _put(run.a, id, "user")).expect(200)
            (await _put(run.a, run.a.user_id, "user")).error(400)
            require((await run.a.get("/auth/me")).ok()["user"]["isAdmin"], "there is no admin any more")
        finally:
            for id in others:
                await _put(run.a, id, "admin")
