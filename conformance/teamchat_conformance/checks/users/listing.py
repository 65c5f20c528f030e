"""USER-LIST: who is there, and what all may know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import ids, items
from teamchat_conformance.checks.users._area import area
from teamchat_conformance.expect import array, boolean, milliseconds, require, text

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "USER-LIST-01", "§2 User", "GET /users tells id, userName, email, isAdmin and createdAt of each"
)
area.required("USER-LIST-02", "§4 Users", "The list holds everybody")
area.required("USER-LIST-03", "§2 User", "The list tells no password and no hash")
area.recommended("USER-LIST-04", "§2 User", "The list tells nothing but the five fields of a user")
area.recommended("USER-LIST-05", "D-05", "No id and no email stands in the list twice")
area.required("USER-LIST-06", "§4 Users", "Who was removed, or has left, is not in the list")

_FIELDS = {"id": text, "userName": text, "email": text, "isAdmin": boolean, "createdAt": milliseconds}


@area.scenario("USER-LIST-01", "USER-LIST-02", "USER-LIST-03", "USER-LIST-04", "USER-LIST-05", "USER-LIST-06")
async def who_is_there(run: Run) -> None:
    removed, left = await run.new_user(), await run.new_user()
    (await run.a.delete(f"/users/{removed.user_id}")).expect(200)
    (await left.post("/users/exit")).expect(200)
    answer = await run.u.get("/users")
    with run.verdict("USER-LIST-01"):
        answer.expect(200).shape({"users": array(_FIELDS)})
    users = await items(run.u, "/users", "users")
    with run.verdict("USER-LIST-02"):
        everybody = {one.user_id for one in (run.a, run.b, run.u, run.v, run.w)}
        require(everybody <= set(ids(users)), "somebody is missing from the list of users")
    names = {name for one in users for name in one}
    with run.verdict("USER-LIST-03"):
        wrong = [name for name in names if "password" in name.lower() or "hash" in name.lower()]
        require(not wrong, f"the list of users tells {', '.join(wrong)}")
    with run.verdict("USER-LIST-04"):
        extra = sorted(names - _FIELDS.keys())
        require(not extra, f"the list of users also tells {', '.join(extra)}")
    with run.verdict("USER-LIST-05"):
        emails = [str(one["email"]).lower() for one in users]
        require(len(set(ids(users))) == len(users), "an id stands in the list of users twice")
        require(len(set(emails)) == len(users), "an email stands in the list of users twice")
    with run.verdict("USER-LIST-06"):
        require(not {removed.user_id, left.user_id} & set(ids(users)), "who is gone is still listed")
