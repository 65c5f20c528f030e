"""CFG-ADMIN: the first admin, and where their password comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.configuration._area import again, area, secret, started
from teamchat_conformance.checks.signing_in import TIMED_TOKENS, by_password, listed, not_available
from teamchat_conformance.checks.steps import item, the_only
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_KEY = "chat.initialUser.password"

area.required(
    "CFG-ADMIN-01", "§5 rule 9", "The initial user is listed as configured, and is an admin", "launch"
)
area.required("CFG-ADMIN-02", "§5 rule 8", "The password in chat.initialUser.password signs in", "launch")
area.required(
    "CFG-ADMIN-03", "§5 Configuration keys", "The password in INITIAL_USER_PASSWORD signs in", "launch"
)
area.required(
    "CFG-ADMIN-04", "§5 Configuration keys", "The password after --initialUserPassword signs in", "launch"
)
area.required(
    "CFG-ADMIN-05", "§5 rule 8", "Another initial password at a later start changes nothing", "launch"
)
area.recommended(
    "CFG-ADMIN-07", "§5 Configuration keys", "Without any initial password nobody guesses one", "launch"
)
area.required("CFG-INV-01", "§5 Configuration keys", "Invites are required where nothing is said", "launch")
area.required("CFG-MAIL-06", "§5 rule 3", "Password mode works without mail", "launch")
area.recorded("CFG-HASH-01", "§5 rule 3", "Whether a password stands readable among the data", "launch")


@area.scenario(
    "CFG-ADMIN-01", "CFG-ADMIN-02", "CFG-ADMIN-05", "CFG-INV-01", "CFG-MAIL-06", "CFG-HASH-01",
    needs=("launch",),
)  # fmt: skip
async def the_first_admin(run: Run) -> None:
    password, other = secret(run, "initial password"), secret(run, "later initial password")
    keys = {_KEY: password, "chat.initialUser.userName": "Prime Admin", "auth.isInviteRequired": None}
    async with started(run, keys, mode="password") as own:
        email, nobody = own.run.instance.admin.email, own.run.n
        with run.verdict("CFG-ADMIN-02"), run.verdict("CFG-MAIL-06"):
            token = (
                (await by_password(nobody, email, password)).expect(200).shape(TIMED_TOKENS)["accessToken"]
            )
        own.run.a = own.run.client("admin", token=run.recorder.secret(token, "access token"))  # type: ignore[assignment]
        with run.verdict("CFG-ADMIN-01"):
            user = the_only(await listed(own.run, email), f"users with the email {email}")
            require(user["userName"] == "Prime Admin", f"the admin is called {user['userName']}")
            require(user["isAdmin"] is True, "the initial user is no admin")
            await item(own.run.a, "/users", "users", user["id"])
        with run.verdict("CFG-INV-01"):
            body = {"email": own.run.email(), "password": password}
            not_available(await nobody.post("/auth/register", body))
        await own.server.stop()
        data = [path.read_bytes() for path in own.server.data.rglob("*") if path.is_file()]
        run.record("CFG-HASH-01", {"found": any(password.encode() in content for content in data)})
        with run.verdict("CFG-ADMIN-05"):
            await again(own, {_KEY: other})
            (await by_password(nobody, email, password)).expect(200)
            (await by_password(nobody, email, other)).error(401)


@area.scenario("CFG-ADMIN-03", "CFG-ADMIN-04", "CFG-ADMIN-07", needs=("launch",))
async def where_the_password_comes_from(run: Run) -> None:
    password, unset = secret(run, "initial password"), {_KEY: None}
    with run.verdict("CFG-ADMIN-03"):
        async with started(run, unset, mode="password", env={"INITIAL_USER_PASSWORD": password}) as own:
            (await by_password(own.run.n, own.run.instance.admin.email, password)).expect(200)
    with run.verdict("CFG-ADMIN-04"):
        flag = ("--initialUserPassword", password)
        async with started(run, unset, mode="password", arguments=flag) as own:
            (await by_password(own.run.n, own.run.instance.admin.email, password)).expect(200)
    with run.verdict("CFG-ADMIN-07"):
        async with started(run, unset, mode="password") as own:
            for guess in ("password", "initialUserPassword", "undefined"):
                (await by_password(own.run.n, own.run.instance.admin.email, guess)).error(401)
