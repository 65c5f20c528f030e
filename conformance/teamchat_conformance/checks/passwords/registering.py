"""PWD-REG: where no invite is required anybody registers, once for each email, and never as an admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.passwords._area import SHORT, area, is_wrong, new_password, signs_in
from teamchat_conformance.checks.signing_in import (
    TIMED_TOKENS,
    TOO_MANY,
    add,
    belongs_to,
    forget,
    listed,
    not_available,
    one_succeeded,
    refused,
    still_good,
    taken,
)
from teamchat_conformance.checks.steps import NOT_TEXT, together
from teamchat_conformance.expect import Answered, require
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

_AT_ONCE = 10
_MALFORMED = ("", "nobody", "@of.test", "some body@of.test", "two@at@of.test", "line\nend@of.test")

area.required("PWD-REG-01", "§4 Sign-in", "Registering answers tokens, exp and tokenType", "pw", "open")
area.required("PWD-REG-02", "§5 rule 6", "Who registers is signed in, a user and no admin", "pw", "open")
area.required("PWD-REG-03", "§4 Sign-in", "An email that is taken is refused with 400", "pw", "open")
area.required("PWD-REG-04", "§4 Sign-in", "7 characters are refused with 400, and make no user", "pw", "open")
area.required("PWD-REG-05", "§4 Sign-in", "With invites required nobody registers", "pw", "invite")
area.required("PWD-REG-06", "§4 Sign-in", "In other modes POST /auth/register is not there", "notpw")
area.required("PWD-REG-07", "§7", "Email or password missing or no text is refused with 400", "pw", "open")
area.recommended("PWD-REG-08", "D-05", "What is no email is refused and makes no user", "pw", "open")
area.required("PWD-REG-09", "§4 Users", "Nobody makes themselves an admin", "pw", "open")
area.required("PWD-REG-10", "§4 Sign-in", "Registered many times at once, an email is one user", "pw", "open")
area.recommended("PWD-REG-11", "D-05", "In other letters an email is taken all the same", "pw", "open")


async def _register(asker: Client, email: Any, password: Any, **more: Any) -> Answered:
    return await asker.post("/auth/register", {"email": email, "password": password, **more})


async def _forget(run: Run, email: str) -> None:
    for user in await listed(run, email):
        forget(run, str(user["id"]))


@area.scenario("PWD-REG-01", "PWD-REG-02", "PWD-REG-03", "PWD-REG-11", needs=("pw", "open"))
async def somebody_registers(run: Run) -> None:
    email, password = run.email(), new_password(run)
    answer = await _register(run.n, email, password)
    await _forget(run, email)
    with run.verdict("PWD-REG-01"):
        answer.expect(200).shape(TIMED_TOKENS)
    session = taken(run, answer)
    with run.verdict("PWD-REG-02"):
        user = await belongs_to(run, session, email)
        await still_good(run, session)
        found = await listed(run, email)
        require([one["id"] for one in found] == [user["id"]], "who registered is not listed once")
        require(found[0].get("isAdmin") is False, "who registered is an admin")
    for id, again in (("PWD-REG-03", email), ("PWD-REG-11", email.upper())):
        with run.verdict(id):
            other = new_password(run)
            refused(await _register(run.from_elsewhere(), again, other), 400)
            await signs_in(run, email, password)
            await is_wrong(run, email, other)


@area.scenario("PWD-REG-04", "PWD-REG-07", "PWD-REG-08", needs=("pw", "open"))
async def what_is_refused(run: Run) -> None:
    email, password = run.email(), new_password(run)
    with run.verdict("PWD-REG-04"):
        refused(await _register(run.from_elsewhere(), email, SHORT), 400)
        require(not await listed(run, email), "the user is there, though their password was refused")
    with run.verdict("PWD-REG-07"):
        asker = run.from_elsewhere()
        for body in ({"email": email}, {"password": password}, {}):
            refused(await asker.post("/auth/register", body), 400)
        for value in NOT_TEXT:
            refused(await _register(asker, email, value), 400)
            refused(await _register(asker, value, password), 400)
        require(not await listed(run, email), "the user is there, though they were refused")
    with run.verdict("PWD-REG-08"):
        for malformed in _MALFORMED:
            refused(await _register(run.from_elsewhere(), malformed, password), 400)
            require(not await listed(run, malformed), f"there is a user with the email {malformed!r}")


@area.scenario("PWD-REG-09", needs=("pw", "open"))
async def nobody_makes_themselves_an_admin(run: Run) -> None:
    email, password = run.email(), new_password(run)
    claims = {"isAdmin": True, "role": "admin", "is_admin": True}
    answer = await _register(run.n, email, password, **claims)
    await _forget(run, email)
    with run.verdict("PWD-REG-09"):
        if answer.expect(200, 400).status == 400:
            note("fields beside those of the interface are refused")
        require(not any(user["isAdmin"] for user in await listed(run, email)), "who registered is an admin")


@area.scenario("PWD-REG-10", needs=("pw", "open"))
async def many_at_once(run: Run) -> None:
    email = run.email()
    asked = [_register(run.from_elsewhere(), email, new_password(run)) for _ in range(_AT_ONCE)]
    answers = await together(*asked)
    await _forget(run, email)
    with run.verdict("PWD-REG-10"):
        taken(run, one_succeeded(answers, 400))
        require(len(await listed(run, email)) == 1, "one email became several users")


@area.scenario("PWD-REG-05", needs=("pw", "invite"))
async def invited_only(run: Run) -> None:
    email = run.email()
    with run.verdict("PWD-REG-05"):
        answer = await _register(run.n, email, new_password(run))
        answer.error(404, accept=(400, 401, 403, 405, TOO_MANY))
        require(not await listed(run, email), "the user is there, though they were refused")
        known = await add(run, new_password(run))
        (await _register(run.n, known.email, new_password(run))).error(404, accept=(400, 401, 403, 405))
        await signs_in(run, known.email, known.password)


@area.scenario("PWD-REG-06", needs=("notpw",))
async def other_modes_register_nobody(run: Run) -> None:
    email = run.email()
    with run.verdict("PWD-REG-06"):
        not_available(await _register(run.n, email, new_password(run)))
        require(not await listed(run, email), "the user is there, though they were refused")
