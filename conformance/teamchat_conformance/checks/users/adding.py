"""USER-ADD: admins add users, who can then sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.actors import token_in
from teamchat_conformance.checks.steps import NOT_TEXT, each_bad, item, summary, together
from teamchat_conformance.checks.users._area import add, area, listed, listed_once, send
from teamchat_conformance.expect import require, text
from teamchat_conformance.fixtures.corpus import NO_EMAILS
from teamchat_conformance.run import PASSWORD
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("USER-ADD-01", "§4 Users", "An admin adds a user: success, the id, and they are listed")
area.required("USER-ADD-02", "§4 Users", "Who is added with the role admin is listed as one")
area.required("USER-ADD-03", "§4 Users", "A user may not add an admin")
area.required("USER-ADD-04", "§5 rule 5", "Who is added with a password signs in with it at once", "pw")
area.required(
    "USER-ADD-05", "§5 rule 4", "Who is added without a password gets one mail with a link", "pw", "mail"
)
area.recommended("USER-ADD-06", "§4 Users", "Who is added with a password gets no mail", "pw", "mail")
area.required("USER-ADD-07", "§4 Users", "Without mail one may be added without a password", "pw", "nomail")
area.required("USER-ADD-08", "§7", "An email that a user has already is refused with 400")
area.required("USER-ADD-09", "§7", "No email, or one that is no text, is refused with 400")
area.recommended("USER-ADD-10", "D-05", "What is no email is refused with 400")
area.recommended("USER-ADD-11", "D-21", "Without a role one is a plain user")
area.required("USER-ADD-12", "§4 Users", "An unknown role is refused, and makes nobody an admin")
area.required("USER-ADD-13", "§5 rule 10", "Who was added can sign in")
area.recorded("USER-ADD-14", "§4 Users", "Whether adding sends a mail in magic-link mode", "magic", "mail")
area.recommended("USER-ADD-15", "D-05", "An email in other letter case is the same email")
area.required("USER-ADD-16", "§7", "Adding one email ten times at once adds one user")
area.recommended("USER-ADD-17", "D-02", "Fields that nobody asked for have no effect on a new user")


@area.scenario("USER-ADD-01", "USER-ADD-02", "USER-ADD-03", "USER-ADD-11")
async def an_admin_adds_users(run: Run) -> None:
    email = run.email()
    with run.verdict("USER-ADD-01"):
        told = (await add(run, email)).expect(200).shape({"success": True, "userId": text})
        found = await item(run.a, "/users", "users", told["userId"])
        require(found["email"] == email and found["isAdmin"] is False, f"a new user is listed as {found}")
    with run.verdict("USER-ADD-02"):
        told = (await add(run, run.email(), role="admin")).ok()
        found = await item(run.a, "/users", "users", told["userId"])
        require(found["isAdmin"] is True, "a new admin is listed as none")
    with run.verdict("USER-ADD-03"):
        email = run.email()
        (await add(run, email, by=run.u, role="admin")).error(403)
        require(await listed(run, email) == [], "who a user added is there")
    with run.verdict("USER-ADD-11"):
        body: dict[str, Any] = {"email": run.email(), **({"password": PASSWORD} if run.has("pw") else {})}
        told = (await send(run, body)).expect(200).json
        found = await item(run.a, "/users", "users", told["userId"])
        require(found["isAdmin"] is False, "who was added without a role is an admin")


@area.scenario("USER-ADD-08", "USER-ADD-09", "USER-ADD-10", "USER-ADD-12", "USER-ADD-15", "USER-ADD-17")
async def what_makes_no_user(run: Run) -> None:
    email = run.email()
    (await add(run, email)).expect(200)
    with run.verdict("USER-ADD-08"):
        (await add(run, email)).error(400)
        require(len(await listed(run, email)) == 1, "an email has two users")
    with run.verdict("USER-ADD-15") as finding:
        (await add(run, email.upper())).error(400)
        require(len(await listed(run, email)) == 1, "an email in other letter case has a user of its own")
        finding.value = {"with spaces around": summary(await add(run, f" {email} "))}
    with run.verdict("USER-ADD-09"):
        (await send(run, {"role": "user"})).error(400)
        await each_bad(lambda body: send(run, body), [{"email": one, "role": "user"} for one in NOT_TEXT])
    with run.verdict("USER-ADD-10"):
        for one in (*NO_EMAILS, ""):
            (await add(run, one)).error(400)
            require(await listed(run, one) == [], f"{one[:40]!r} is a user")
    with run.verdict("USER-ADD-12"):
        for role in ("owner", "", "Admin", 1, None):
            await _no_admin_by(run, role)
    with run.verdict("USER-ADD-17"):
        email = run.email()
        extra: dict[str, Any] = {
            "id": run.text(),
            "isAdmin": True,
            "createdAt": 1,
            "passwordHash": "x",
            "userName": "x",
        }
        if (await add(run, email, **extra)).expect(200, accept=(400,)).status == 200:
            found = await listed_once(run, email)
            require(found["isAdmin"] is False, "isAdmin of the body was taken over")
            require(found["id"] != extra["id"] and found["createdAt"] != 1, "id or createdAt was taken over")


async def _no_admin_by(run: Run, role: Any) -> None:
    email = run.email()
    answer = (await add(run, email, role=role)).expect(400, accept=(200,))
    if answer.status == 200:
        found = await listed_once(run, email)
        require(found["isAdmin"] is False, f"the role {role!r} makes an admin")
    else:
        require(await listed(run, email) == [], f"the role {role!r} was refused, and made a user")


@area.scenario("USER-ADD-16")
async def ten_times_at_once(run: Run) -> None:
    email = run.email()
    with run.verdict("USER-ADD-16"):
        await together(*(add(run, email) for _ in range(10)))
        require(len(await listed(run, email)) == 1, "an email added ten times at once has several users")


@area.scenario("USER-ADD-04", "USER-ADD-13")
async def who_was_added_signs_in(run: Run) -> None:
    email = run.email()
    user_id = (await add(run, email)).ok()["userId"]
    for id in ("USER-ADD-04", "USER-ADD-13"):
        with run.verdict(id):
            told = await run.sign_in.session(email, PASSWORD)
            me = await run.n.get("/auth/me", token=told["accessToken"])
            me.expect(200).shape({"user": {"id": user_id}})


@area.scenario("USER-ADD-05", "USER-ADD-06", needs=["pw", "mail"])
async def invitations_by_mail(run: Run) -> None:
    if run.sink is None:
        raise Miss("the suite has no sink for mail")
    with_password, invited = run.email(), run.email()
    mark = run.sink.mark()
    (await add(run, with_password)).expect(200)
    (await send(run, {"email": invited, "role": "user"})).expect(200)
    seconds = run.wait(run.instance.mail.timeout)
    with run.verdict("USER-ADD-05"):
        mail = await run.sink.wait(invited, since=mark, seconds=seconds)
        require(token_in(mail.text, run), "an invitation holds no token")
        await run.sink.none(since=mark)
        require(len(run.sink.to(invited, since=mark)) == 1, "one invitation is several mails")
    with run.verdict("USER-ADD-06"):
        await run.sink.none(with_password, since=mark)


@area.scenario("USER-ADD-07", needs=["pw", "nomail"])
async def without_a_password(run: Run) -> None:
    email = run.email()
    with run.verdict("USER-ADD-07"):
        told = (await send(run, {"email": email, "role": "user"})).expect(200).shape({"userId": text})
        await item(run.a, "/users", "users", told["userId"])
        for password in ("", PASSWORD):
            body = {"email": email, "password": password}
            answer = await run.from_elsewhere().post("/auth/password-login", body)
            answer.error(401, accept=(400,))


@area.scenario("USER-ADD-14", needs=["magic", "mail"])
async def a_mail_to_the_new(run: Run) -> None:
    if run.sink is None:
        raise Miss("the suite has no sink for mail")
    mark, email = run.sink.mark(), run.email()
    (await add(run, email)).expect(200)
    (await run.n.post("/auth/login", {"email": run.u.email})).expect(200)
    await run.sink.wait(run.u.email, since=mark, seconds=run.wait(run.instance.mail.timeout))
    run.record("USER-ADD-14", {"mails": len(run.sink.to(email, since=mark))})
