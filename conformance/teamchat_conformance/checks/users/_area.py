"""The area that the modules of this package add their checks to, and the steps they have in common."""

from __future__ import annotations

from typing import Any

from teamchat_conformance.checks.steps import items
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.http import Client
from teamchat_conformance.registry import Area
from teamchat_conformance.run import PASSWORD, Run

area = Area("USER", "Users")


async def listed(run: Run, email: str) -> list[dict[str, Any]]:
    """Return the users with an email, in whatever letter case."""
    users = await items(run.a, "/users", "users")
    return [one for one in users if str(one.get("email")).strip().lower() == email.lower()]


async def listed_once(run: Run, email: str) -> dict[str, Any]:
    """Return the user with an email. Raises `Miss` if there is not exactly one."""
    found = await listed(run, email)
    require(len(found) == 1, f"{len(found)} users are listed with the email that was added")
    return found[0]


async def add(run: Run, email: str, *, by: Client | None = None, **fields: Any) -> Answered:
    """Add a user, with a password where that is how one signs in; who was added is removed in the end."""
    body = {"email": email, "role": "user", **fields}
    if run.has("pw"):
        body.setdefault("password", PASSWORD)
    return await send(run, body, by=by)


async def send(run: Run, body: Any, *, by: Client | None = None) -> Answered:
    """Send a body to POST /users/add; who was added is removed in the end."""
    answer = await (by or run.a).post("/users/add", body)
    if answer.status == 200 and isinstance(answer.json, dict) and answer.json.get("userId"):
        user_id = answer.json["userId"]
        run.undo_with(f"user {user_id}", lambda: run.a.delete(f"/users/{user_id}"))
    return answer
