"""DEACT: users who are shut out, and let in again (extensions, part L, capability deactivation)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import FIELDS
from teamchat_conformance.checks.steps import at, items, messages, messages_at, unknown
from teamchat_conformance.checks.users.leaving import is_kept_out
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

_ROW = "/users/:id/deactivate, …/activate (admin) | success |"
_ENDS = "Deactivated: sessions, streams, tokens, pushes end at once"
area = Area(
    "DEACT",
    "Deactivated users",
    capability="deactivation",
    endpoints=(
        Endpoint("POST", "/users/:id/deactivate", admin_only=True, known={"success": None}),
        Endpoint("POST", "/users/:id/activate", admin_only=True, known={"success": None}),
    ),
    fields=FIELDS | {"isDeactivated"},
)
area.required("DEACT-END-01", "L-1", "The token of who is deactivated ends at once", words=[_ENDS])
area.required("DEACT-END-02", "L-1", "The streams of who is deactivated end", words=[_ENDS])
area.required("DEACT-IN-01", "L-1", "Who is deactivated can't sign in", words=[_ENDS])
area.required(
    "DEACT-LIST-01",
    "L-3",
    "GET /users has isDeactivated, true, of who is deactivated, and of nobody else",
    words=["`isDeactivated` in GET /users and"],
)
area.required(
    "DEACT-STAY-01",
    "L-1",
    "What who is deactivated has written stays, under their name",
    words=["the name stays, memberships rest"],
)
area.required(
    "DEACT-BACK-01",
    "L-1",
    "Who is activated is deactivated no longer, and the old token stays dead",
    words=["Activating revives no session, token or subscription"],
)
area.required(
    "DEACT-TOLD-01", "L-7", "Everyone is told UPDATE_USER", words=["UPDATE_USER, to who sees the thing"]
)
area.required("DEACT-WHO-01", "L", "Who is no admin deactivates and activates nobody (403)", words=[_ROW])
area.recommended("DEACT-WHO-02", "D-03", "A user who is not there is 404")
area.recommended(
    "DEACT-SAME-01", "L", "Deactivating again and activating again answer 200, and nobody is told"
)
area.required(
    "DEACT-LAST-01",
    "L-1",
    "The last admin who is not deactivated stays",
    "exclusive",
    words=["the last admin who is not deactivated stays"],
)


async def _set(by: Actor, id: str, how: str) -> Answered:
    return await by.post(at("users", id, how))


async def _flags(run: Run) -> dict[str, object]:
    return {user["id"]: user.get("isDeactivated") for user in await items(run.u, "/users", "users")}


@area.scenario(
    "DEACT-END-01", "DEACT-END-02", "DEACT-IN-01", "DEACT-LIST-01", "DEACT-STAY-01", "DEACT-BACK-01",
    "DEACT-TOLD-01", "DEACT-SAME-01",
)  # fmt: skip
async def somebody_is_shut_out_and_let_in_again(run: Run) -> None:
    someone = await run.new_user(name="who is deactivated")
    channel = await run.channel()
    posted = await run.post(someone, channel)
    async with run.listen(run.w) as observer:
        mark = observer.mark()
        async with run.listen(someone) as stream:
            (await _set(run.a, someone.user_id, "deactivate")).expect(200).shape({"success": True})
            with run.verdict("DEACT-END-02"):
                await stream.ended(run.wait(5))
        with run.verdict("DEACT-END-01"):
            for method, target in (("GET", "/auth/me"), ("POST", messages_at(channel))):
                asked = await run.n.ask(method, target, {"content": run.text()}, token=someone.token)
                asked.error(401)
        with run.verdict("DEACT-TOLD-01"):
            await observer.expect("UPDATE_USER", id=someone.user_id, since=mark, seconds=run.wait(5))
        with run.verdict("DEACT-IN-01"):
            await is_kept_out(run, someone)
        with run.verdict("DEACT-LIST-01"):
            flags = await _flags(run)
            require(flags.get(someone.user_id) is True, "isDeactivated is not true")
            require(flags[run.u.user_id] in (None, False), "somebody else is deactivated, too")
        with run.verdict("DEACT-STAY-01"):
            found = [one["author"] for one in await messages(run.u, channel) if one["id"] == posted["id"]]
            require(found == [posted["author"]], f"the author is {found}")
        await run.fence(observer)
        mark = observer.mark()
        for how in ("deactivate", "activate", "activate"):
            (await _set(run.a, someone.user_id, how)).expect(200)
        with run.verdict("DEACT-SAME-01"):
            await run.fence(observer)
            told = observer.since(mark, "UPDATE_USER")
            require(len(told) == 1, f"of one change UPDATE_USER was told {len(told)} times")
    with run.verdict("DEACT-BACK-01"):
        require((await _flags(run))[someone.user_id] in (None, False), "isDeactivated is there still")
        (await run.n.ask("GET", "/auth/me", token=someone.token)).error(401)


@area.scenario("DEACT-WHO-01", "DEACT-WHO-02")
async def admins_alone_do_it(run: Run) -> None:
    with run.verdict("DEACT-WHO-01"):
        for how in ("deactivate", "activate"):
            (await _set(run.u, run.v.user_id, how)).error(403)
            (await run.n.post(at("users", run.v.user_id, how))).error(401)
        (await run.v.get("/auth/me")).expect(200)
    with run.verdict("DEACT-WHO-02"):
        for how in ("deactivate", "activate"):
            (await _set(run.a, unknown(run), how)).error(404)


@area.scenario("DEACT-LAST-01")
async def the_last_active_admin_stays(run: Run) -> None:
    other = await run.new_user("admin", name="another admin")
    admins = [user["id"] for user in await items(run.a, "/users", "users") if user["isAdmin"]]
    others = [id for id in admins if id not in (run.a.user_id, other.user_id)]
    with run.verdict("DEACT-LAST-01"):
        try:
            for id in [*others, other.user_id]:
                (await _set(run.a, id, "deactivate")).expect(200)
            (await _set(run.a, run.a.user_id, "deactivate")).error(400)
            (await run.a.post("/users/exit")).error(400)
            require((await run.a.get("/auth/me")).ok()["user"]["isAdmin"], "there is no admin any more")
        finally:
            for id in others:
                await _set(run.a, id, "activate")
            if run.b.user_id in others:  # The token is dead, and others ask as this admin.
                await run.sign_in.again(run.b)
