"""AUTH-ME: who the server thinks one is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.credentials._area import area
from teamchat_conformance.expect import boolean, require, text

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("AUTH-ME-01", "§4 Sign-in endpoints", "GET /auth/me answers id, userName, email and isAdmin")
area.required("AUTH-ME-02", "§2 User", "The answer omits createdAt")
area.required("AUTH-ME-03", "§4 Sign-in endpoints", "It is about the caller, and tells admins from users")
area.required("AUTH-ME-04", "§2 User", "A new name shows at once, with the same token")
area.required("AUTH-ME-05", "§4 Users", "Who was added as an admin is one", "exclusive")

_USER = {"id": text, "userName": text, "email": text, "isAdmin": boolean}


@area.scenario("AUTH-ME-01", "AUTH-ME-02", "AUTH-ME-03")
async def one_is_oneself(run: Run) -> None:
    answers = {one: await one.get("/auth/me") for one in (run.u, run.a)}
    with run.verdict("AUTH-ME-01"):
        answers[run.u].expect(200).shape({"user": _USER})
    for who, answer in answers.items():
        with run.verdict("AUTH-ME-02"):
            require("createdAt" not in answer.ok()["user"], f"GET /auth/me of {who.actor} tells createdAt")
        with run.verdict("AUTH-ME-03"):
            mine = {"id": who.user_id, "isAdmin": who is run.a}
            found = answer.expect(200).shape({"user": mine})["user"]
            require(
                str(found.get("email")).lower() == who.email.lower(),
                f"GET /auth/me of {who.actor} tells another's email",
            )


@area.scenario("AUTH-ME-04", "AUTH-ME-05")
async def what_changes_shows(run: Run) -> None:
    someone = await run.new_user()
    with run.verdict("AUTH-ME-04"):
        name = run.text("renamed")
        (await someone.put("/users/me", {"userName": name})).expect(200)
        (await someone.get("/auth/me")).expect(200).shape({"user": {"userName": name}})
    with run.verdict("AUTH-ME-05"):
        other = await run.new_user("admin", name="a new admin")
        (await other.get("/auth/me")).expect(200).shape({"user": {"isAdmin": True}})
