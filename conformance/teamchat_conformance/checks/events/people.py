"""EVT of users: who comes, who goes, who is called otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.events._area import area, audience
from teamchat_conformance.checks.steps import at
from teamchat_conformance.run import PASSWORD

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended("EVT-NEWUSER-02", "D-36", "Adding a user, registering and first sign-in send NEW_USER once")
area.recommended("EVT-REMUSER-02", "D-36", "Removing a user sends REMOVE_USER once to each")
area.recommended("EVT-EXIT-02", "D-36", "A user who leaves sends USER_EXIT once to each")
area.recommended("EVT-UPDUSER-02", "D-36", "A user who takes another name sends UPDATE_USER once to each")


@area.scenario("EVT-NEWUSER-02", "EVT-REMUSER-02", "EVT-EXIT-02", "EVT-UPDUSER-02")
async def people_come_and_go(run: Run) -> None:
    async with audience(run, run.u, run.v, run.a) as everyone:
        removed, leaver = await run.new_user(name="someone"), await run.new_user(name="someone else")
        with run.verdict("EVT-NEWUSER-02"):
            for actor in (removed, leaver):
                await everyone.once("NEW_USER", id=actor.user_id, email=actor.email)
            if run.has("open"):
                email = await _comes_alone(run)
                guest = str((await everyone.once("NEW_USER", email=email))["id"])
                run.undo_with(f"user {guest}", lambda: run.a.delete(at("users", guest)))
        with run.verdict("EVT-UPDUSER-02"):
            name = run.text()
            (await leaver.put("/users/me", {"userName": name})).expect(200)
            await everyone.once("UPDATE_USER", id=leaver.user_id, userName=name)
        with run.verdict("EVT-REMUSER-02"):
            (await run.a.delete(at("users", removed.user_id))).expect(200)
            await everyone.once("REMOVE_USER", id=removed.user_id, email=removed.email)
        with run.verdict("EVT-EXIT-02"):
            (await leaver.post("/users/exit")).expect(200)
            await everyone.once("USER_EXIT", id=leaver.user_id)


async def _comes_alone(run: Run) -> str:
    """Sign somebody in for the first time, where no invitation is needed; return their address."""
    email = run.email()
    if run.has("pw"):
        (await run.n.post("/auth/register", {"email": email, "password": PASSWORD})).expect(200)
    else:
        await run.sign_in.session(email)
    return email
