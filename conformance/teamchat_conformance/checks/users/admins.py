"""USER-DEL-02, -04, USER-EXIT-02, -04: there is always an admin.

They run on an instance of the run's own, come last, and put a working admin A in place again, though it may
be another user than before.  Where the server left none, `Run.lost` says so, and blocks what needs one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import at, items, together
from teamchat_conformance.checks.users._area import area
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

area.required("USER-DEL-02", "§4 Users", "The last admin can't be removed", "exclusive")
area.required("USER-DEL-04", "§4 Users", "Two admins who remove each other at once leave one", "exclusive")
area.required("USER-EXIT-02", "§4 Users", "The last admin can't leave", "exclusive")
area.required("USER-EXIT-04", "§4 Users", "Two admins who leave at once leave one", "exclusive")

_ROUNDS = 20


async def _leave_alone(run: Run) -> None:
    """Remove every admin of the run but A. Raises `Miss` if others are there."""
    for one in await items(run.a, "/users", "users"):
        if not one.get("isAdmin") or one["id"] == run.a.user_id:
            continue
        if run.id not in str(one.get("email")):
            raise Miss("there are admins that are not of the run's making")
        (await run.a.delete(at("users", str(one["id"])))).expect(200)


async def _restore(run: Run) -> None:
    """Put the given admin in place again, and a second one beside."""
    if run.lost:
        return
    given = run.instance.admin
    users = await items(run.a, "/users", "users")
    if all(str(one.get("email")).lower() != given.email.lower() for one in users):
        body = {
            "email": given.email,
            "role": "admin",
            **({"password": given.password} if run.has("pw") else {}),
        }
        (await run.a.post("/users/add", body)).expect(200)
        run.a = await run.sign_in.admin()
    elif run.a.email.lower() != given.email.lower():
        run.a = await run.sign_in.admin()
    run.b = await run.new_user("admin", name="admin B")


async def _is_admin(who: Actor) -> bool:
    try:
        answer = await who.get("/auth/me")
    except Miss:  # a new access token was needed, and refused
        return False
    return answer.status == 200 and answer.json["user"]["isAdmin"] is True


@area.scenario("USER-DEL-02", "USER-EXIT-02", needs=["exclusive"], last=True)
async def the_last_admin_stays(run: Run) -> None:
    await _leave_alone(run)
    for id, method, target in (
        ("USER-DEL-02", "DELETE", at("users", run.a.user_id)),
        ("USER-EXIT-02", "POST", "/users/exit"),
    ):
        with run.verdict(id):
            (await run.a.ask(method, target)).error(400, 403, accept=(409,))
            require(await _is_admin(run.a), "the last admin is none any more")
    await _restore(run)


async def _rounds(run: Run, id: str, act: Callable[[Actor, Actor], Awaitable[Answered]]) -> None:
    """Let two admins, the only ones, act at once, again and again; one of them must stay each time."""
    await _leave_alone(run)
    run.b = await run.new_user("admin", name="admin B")
    for _ in range(_ROUNDS):
        pair = (run.a, run.b)
        left: list[Actor] = []
        with run.verdict(id):
            await together(act(*pair), act(*reversed(pair)))
            left = [one for one in pair if await _is_admin(one)]
            require(left, "two admins acted at once, and none is left")
        if not left:
            run.lost = f"the server let both admins go ({id}), and there is none any more"
            raise Miss(run.lost)
        run.a = left[0]
        run.b = left[1] if len(left) == 2 else await run.new_user("admin", name="admin B")


@area.scenario("USER-DEL-04", needs=["exclusive"], last=True)
async def admins_remove_each_other(run: Run) -> None:
    try:
        await _rounds(run, "USER-DEL-04", lambda one, other: one.delete(at("users", other.user_id)))
    finally:
        await _restore(run)


@area.scenario("USER-EXIT-04", needs=["exclusive"], last=True)
async def admins_leave_at_once(run: Run) -> None:
    try:
        await _rounds(run, "USER-EXIT-04", lambda one, _: one.post("/users/exit"))
    finally:
        await _restore(run)
