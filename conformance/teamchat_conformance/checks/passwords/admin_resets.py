"""PWD-ADMIN: an admin sets another password for anybody, and nobody else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.passwords._area import (
    SHORT,
    area,
    is_wrong,
    new_password,
    reset_by,
    signs_in,
)
from teamchat_conformance.checks.signing_in import add, ended, sign_in, somebody
from teamchat_conformance.checks.steps import NOT_TEXT, at, no_failure, summary, unknown
from teamchat_conformance.http import Client

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("PWD-ADMIN-01", "§4 Users", "An admin sets another password, which alone is right then", "pw")
area.required("PWD-ADMIN-02", "§4 Users", "7 characters are refused with 400 and not set", "pw")
area.required("PWD-ADMIN-03", "§4 Users", "An unknown user is refused with 400", "pw")
area.required("PWD-ADMIN-04", "§4 Users", "A user may not, neither for others nor for themselves", "pw")
area.required("PWD-ADMIN-05", "§7", "A password that is missing or no text is refused with 400", "pw")
area.required("PWD-ADMIN-06", "§5 rule 7", "A user who had no password gets in by it", "pw")
area.recorded("PWD-ADMIN-07", "§4 Users", "What the endpoint does in other modes", "notpw")
area.recommended("PWD-ADMIN-08", "D-17", "It ends the sessions of that user", "pw")


@area.scenario("PWD-ADMIN-01", "PWD-ADMIN-02", "PWD-ADMIN-05", "PWD-ADMIN-08", needs=("pw",))
async def an_admin_helps(run: Run) -> None:
    person, password = await add(run, new_password(run)), new_password(run)
    before = await sign_in(run, person)
    with run.verdict("PWD-ADMIN-02"):
        (await reset_by(run.a, person.id, SHORT)).error(400)
        await signs_in(run, person.email, person.password)
    with run.verdict("PWD-ADMIN-05"):
        (await run.a.post(at("users", person.id, "reset-password"), {})).error(400)
        for value in NOT_TEXT:
            (await reset_by(run.a, person.id, value)).error(400)
    with run.verdict("PWD-ADMIN-01"):
        (await reset_by(run.a, person.id, password)).expect(200).shape({"success": True})
        await signs_in(run, person.email, password)
        await is_wrong(run, person.email, person.password)
    with run.verdict("PWD-ADMIN-08"):
        await ended(run, before)
        (await run.n.get("/auth/me", token=before.access)).error(401)


@area.scenario("PWD-ADMIN-03", "PWD-ADMIN-06", needs=("pw",))
async def nobody_and_somebody_new(run: Run) -> None:
    with run.verdict("PWD-ADMIN-03"):
        (await reset_by(run.a, unknown(run), new_password(run))).error(400)
    with run.verdict("PWD-ADMIN-06"):
        blank, password = await add(run), new_password(run)
        (await reset_by(run.a, blank.id, password)).expect(200)
        await signs_in(run, blank.email, password)


@area.scenario("PWD-ADMIN-04", needs=("pw",))
async def a_user_may_not(run: Run) -> None:
    other, own = await add(run, new_password(run)), await add(run, new_password(run))
    asker: Client = run.client("a user", (await sign_in(run, own)).access)
    with run.verdict("PWD-ADMIN-04"):
        for person in (other, own):
            password = new_password(run)
            (await reset_by(asker, person.id, password)).error(403)
            await is_wrong(run, person.email, password)
            await signs_in(run, person.email, person.password)


@area.scenario("PWD-ADMIN-07", needs=("notpw",))
async def passwords_in_other_modes(run: Run) -> None:
    person = await somebody(run)
    answer = no_failure(await reset_by(run.a, person.id, new_password(run)))
    run.record("PWD-ADMIN-07", summary(answer))
