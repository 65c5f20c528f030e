"""DEV: sign-in by an email alone (interface, part 4, Sign-in endpoints; part 5, rules 1 and 10).

Nobody is signed in here but users of the run's making and the given admin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import items, summary
from teamchat_conformance.expect import boolean, require, text
from teamchat_conformance.fixtures.corpus import NO_EMAILS
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area = Area("DEV", "Dev sign-in")

area.required("DEV-01", "§4 Sign-in endpoints", "Dev-login answers the user and a token", "dev")
area.required("DEV-02", "§5 rule 1", "An email is all that dev-login asks for", "dev")
area.required("DEV-03", "§4 Sign-in endpoints", "The token is an access token of that user", "dev")
area.required("DEV-04", "§2 User", "The answer has no createdAt, and nothing of a password", "dev")
area.required("DEV-05", "§5 rule 10", "Without invites an unknown email becomes a plain user", "dev", "open")
area.required("DEV-06", "§5 rule 10", "With invites an unknown email is refused", "dev", "invite")
area.required("DEV-07", "§5 rule 10", "Who was refused is no user", "dev", "invite")
area.required("DEV-08", "§5 rule 9", "The first admin may always sign in", "dev", "invite")
area.required("DEV-09", "§5 rule 1", "Dev-login sends no mail", "dev", "mail")
area.required("DEV-10", "§4 Sign-in endpoints", "Dev-login is not there in another mode", "notdev")
area.required("DEV-11", "§7", "Dev-login without an email is refused with 400", "dev")
area.recommended("DEV-12", "D-05", "What is no email is refused, and makes no user", "dev", "open")
area.recommended("DEV-13", "D-05", "An email is the same in other letter case", "dev", "open")
area.required("DEV-14", "§5 rule 10", "Signing in again makes no second user", "dev")
area.recommended("DEV-15", "D-14", "A dev sign-in is a session that counts toward the limit", "dev")
area.recommended(
    "DEV-16", "D-21", "A new user's name begins as the part of the email before @", "dev", "open"
)

_USER = {"id": text, "userName": text, "email": text, "isAdmin": boolean}


async def _login(run: Run, email: str) -> Answered:
    answer = await run.n.post("/auth/dev-login", {"email": email})
    if answer.status == 200 and isinstance(answer.json, dict):
        run.recorder.secret(str(answer.json.get("token", "")), "access token")
    return answer


async def _users(run: Run, email: str) -> list[dict[str, Any]]:
    listed = await items(run.a, "/users", "users")
    return [one for one in listed if str(one.get("email")).lower() == email.lower()]


async def _new(run: Run, email: str) -> dict[str, Any]:
    """Sign an unknown email in, and see to it that the user is removed."""
    told: dict[str, Any] = (await _login(run, email)).ok()
    user_id = told["user"]["id"]
    run.undo_with(f"user {user_id}", lambda: run.a.delete(f"/users/{user_id}"))
    return told


@area.scenario("DEV-01", "DEV-02", "DEV-03", "DEV-04", "DEV-08", "DEV-14", needs=["dev"])
async def an_email_is_enough(run: Run) -> None:
    someone = await run.new_user()
    answer = await _login(run, someone.email)
    with run.verdict("DEV-01"):
        answer.expect(200).shape({"token": text, "user": {**_USER, "id": someone.user_id}})
    with run.verdict("DEV-02"):
        answer.expect(200)
    with run.verdict("DEV-03"):
        me = await run.n.get("/auth/me", token=answer.ok()["token"])
        me.expect(200).shape({"user": {"id": someone.user_id}})
    admin = await _login(run, run.a.email)
    await run.n.post("/auth/logout", {}, token=admin.ok()["token"])
    with run.verdict("DEV-04"):
        for one in (answer, admin):
            wrong = [
                name
                for name in one.ok()["user"]
                if name == "createdAt" or "password" in name.lower() or "hash" in name.lower()
            ]
            require(not wrong, f"dev-login tells {', '.join(wrong)}")
    with run.verdict("DEV-08"):
        admin.expect(200).shape({"user": {"isAdmin": True}})
    with run.verdict("DEV-14"):
        for _ in range(2):
            (await _login(run, someone.email)).expect(200).shape({"user": {"id": someone.user_id}})
        require(len(await _users(run, someone.email)) == 1, "signing in again made another user")


@area.scenario("DEV-06", "DEV-07", needs=["dev", "invite"])
async def who_was_not_invited(run: Run) -> None:
    email = run.email()
    with run.verdict("DEV-06"):
        answer = (await _login(run, email)).error(401, accept=(400, 403, 404))
        require("token" not in answer.json, "who was refused got a token")
    with run.verdict("DEV-07"):
        require(await _users(run, email) == [], "who was refused is listed as a user")


@area.scenario("DEV-05", "DEV-13", "DEV-16", needs=["dev", "open"])
async def anybody_is_welcome(run: Run) -> None:
    email = run.email()
    told = await _new(run, email)
    with run.verdict("DEV-05"):
        found = await _users(run, email)
        require([one["id"] for one in found] == [told["user"]["id"]], "a new user is not listed once")
        require(found[0]["isAdmin"] is False, "a new user is an admin")
    with run.verdict("DEV-16"):
        name = told["user"]["userName"]
        require(str(name).startswith(email.partition("@")[0]), f"a new user is called {name}")
    with run.verdict("DEV-13") as finding:
        other = (await _login(run, email.upper())).expect(200)
        other.shape({"user": {"id": told["user"]["id"]}})
        finding.value = {"with spaces around": summary(await _login(run, f" {email} "))[:60]}


@area.scenario("DEV-11", needs=["dev"])
async def no_email(run: Run) -> None:
    with run.verdict("DEV-11"):
        for body in ({}, {"mail": run.email()}, {"email": ""}, {"email": None}):
            (await run.n.post("/auth/dev-login", body)).error(400)


@area.scenario("DEV-12", needs=["dev", "open"])
async def what_is_no_email(run: Run) -> None:
    before = {one["id"] for one in await items(run.a, "/users", "users")}
    with run.verdict("DEV-12"):
        for email in NO_EMAILS:
            (await _login(run, email)).error(400)
        listed = await items(run.a, "/users", "users")
        new = [one for one in listed if one["id"] not in before and one.get("email") in NO_EMAILS]
        require(not new, "what is no email became a user")


@area.scenario("DEV-15", needs=["dev"])
async def sessions_are_limited(run: Run) -> None:
    someone = await run.new_user()
    most = run.instance.auth.max_active_sessions
    tokens = [someone.token] + [(await _login(run, someone.email)).ok()["token"] for _ in range(most)]
    with run.verdict("DEV-15"):
        statuses = [(await run.n.get("/auth/me", token=one)).status for one in tokens]
        require(statuses == [401] + [200] * most, f"{most + 1} sign-ins give tokens that answer {statuses}")


@area.scenario("DEV-09", needs=["dev", "mail"])
async def no_mail_goes_out(run: Run) -> None:
    if run.sink is None:
        raise Miss("the suite has no sink for mail")
    someone = await run.new_user()
    mark = run.sink.mark()
    for _ in range(2):
        (await _login(run, someone.email)).expect(200)
    with run.verdict("DEV-09"):
        await run.sink.none(someone.email, since=mark, quiet=run.wait(run.instance.timing.quiet_seconds))


@area.scenario("DEV-10")
async def other_modes_have_no_dev_login(run: Run) -> None:
    with run.verdict("DEV-10"):
        for email in (run.a.email, run.u.email, run.email()):
            answer = (await run.n.post("/auth/dev-login", {"email": email})).error(
                404, accept=(401, 403, 405)
            )
            require("token" not in answer.json, "dev-login gave a token where it should not be there")
