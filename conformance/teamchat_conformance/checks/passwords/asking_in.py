"""PWD-LOGIN: the right password starts a session, and a wrong one is told from an unknown email by nobody."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from teamchat_conformance.checks.passwords._area import area, is_wrong, new_password, signs_in
from teamchat_conformance.checks.signing_in import (
    TIMED_TOKENS,
    add,
    belongs_to,
    by_password,
    not_available,
    refused,
    taken,
    took_seconds,
)
from teamchat_conformance.checks.steps import NOT_TEXT, no_failure
from teamchat_conformance.expect import require
from teamchat_conformance.run import PASSWORD
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_TIMED = 30
_WRONG_IN_A_ROW = 15

area.required("PWD-LOGIN-01", "§4 Sign-in", "Email and password answer tokens, exp, tokenType Bearer", "pw")
area.required("PWD-LOGIN-02", "§4 Sign-in", "exp is the lifetime of an access token in seconds", "pw")
area.required("PWD-LOGIN-03", "§4 Sign-in", "The access token is good for that user", "pw")
area.required("PWD-LOGIN-04", "§4 Sign-in", "A wrong password is refused with 401", "pw")
area.required("PWD-LOGIN-05", "§4 Sign-in", "An unknown email is refused with 401", "pw")
area.recommended("PWD-LOGIN-06", "D-16", "Both refusals are the same", "pw")
area.required("PWD-LOGIN-07", "§4 Users", "No password lets in a user who has none", "pw")
area.required("PWD-LOGIN-08", "§7", "Email or password missing is refused", "pw")
area.recorded("PWD-LOGIN-14", "D-16", "How long a wrong password and an unknown email take", "pw", "load")
area.recorded("PWD-LOGIN-15", "D-18", "What many wrong passwords in a row lead to", "pw", "ips")
area.required("PWD-LOGIN-16", "§4 Sign-in", "In other modes POST /auth/password-login is not there", "notpw")
area.recommended("PWD-LOGIN-17", "D-05", "The email's letter case does not matter", "pw")


@area.scenario("PWD-LOGIN-01", "PWD-LOGIN-02", "PWD-LOGIN-03", "PWD-LOGIN-17", needs=("pw",))
async def the_right_password(run: Run) -> None:
    person = await add(run, new_password(run))
    answer = await by_password(run.n, person.email, person.password)
    with run.verdict("PWD-LOGIN-01"):
        answer.expect(200).shape(TIMED_TOKENS)
    with run.verdict("PWD-LOGIN-02"):
        answer.shape({"exp": run.instance.auth.access_seconds})
    session = taken(run, answer)
    with run.verdict("PWD-LOGIN-03"):
        user = await belongs_to(run, session, person.email)
        require(user["id"] == person.id, "the session is that of another user")
    with run.verdict("PWD-LOGIN-17"):
        await signs_in(run, person.email.upper(), person.password)


@area.scenario("PWD-LOGIN-04", "PWD-LOGIN-05", "PWD-LOGIN-06", "PWD-LOGIN-07", "PWD-LOGIN-08", needs=("pw",))
async def the_wrong_password(run: Run) -> None:
    person, asker = await add(run, new_password(run)), run.from_elsewhere()
    wrong = await by_password(asker, person.email, new_password(run))
    with run.verdict("PWD-LOGIN-04"):
        refused(wrong, 401)
    unknown = await by_password(asker, run.email(), new_password(run))
    with run.verdict("PWD-LOGIN-05"):
        refused(unknown, 401)
    with run.verdict("PWD-LOGIN-06"):
        require(wrong.body == unknown.body, "a wrong password is answered otherwise than an unknown email")
    blank = await add(run)
    with run.verdict("PWD-LOGIN-07"):
        for guess in ("", new_password(run), None, blank.email):
            statuses = (401,) if guess else (400, 401)
            refused(await by_password(run.from_elsewhere(), blank.email, guess), *statuses, accept=(400,))
    with run.verdict("PWD-LOGIN-08"):
        for body in (
            {"email": person.email},
            {"password": person.password},
            {},
            *({"email": person.email, "password": value} for value in NOT_TEXT),
            *({"email": value, "password": person.password} for value in NOT_TEXT),
        ):
            refused(await asker.post("/auth/password-login", body), 400, accept=(401,))


@area.scenario("PWD-LOGIN-14", needs=("pw", "load", "ips"), last=True)
async def how_long_a_refusal_takes(run: Run) -> None:
    person = await add(run, new_password(run))
    times: dict[str, list[float]] = {"wrong password": [], "unknown email": []}
    for _ in range(_TIMED):
        for about, email in (("wrong password", person.email), ("unknown email", run.email())):
            answer = no_failure(await by_password(run.from_elsewhere(), email, new_password(run)))
            if answer.status == 401:
                times[about].append(took_seconds(run, answer))
    run.record(
        "PWD-LOGIN-14", {about: round(median(taken) * 1000, 1) for about, taken in times.items() if taken}
    )


@area.scenario("PWD-LOGIN-15", needs=("pw", "ips"), last=True)
async def many_wrong_passwords(run: Run) -> None:
    person, guesser = await add(run, new_password(run)), run.from_elsewhere()
    wrong = [
        no_failure(await by_password(guesser, person.email, new_password(run))).status
        for _ in range(_WRONG_IN_A_ROW)
    ]
    right = no_failure(await by_password(guesser, person.email, person.password)).status
    elsewhere = no_failure(await by_password(run.from_elsewhere(), person.email, person.password)).status
    run.record("PWD-LOGIN-15", {"wrong": wrong, "then right": right, "right from elsewhere": elsewhere})


@area.scenario("PWD-LOGIN-16", needs=("notpw",))
async def other_modes_know_no_passwords(run: Run) -> None:
    with run.verdict("PWD-LOGIN-16"):
        not_available(await by_password(run.n, run.u.email, PASSWORD))


area.recommended("PWD-LOGIN-09", "D-17", "A password counts letter for letter, spaces at its ends too", "pw")


@area.scenario("PWD-LOGIN-09", needs=("pw",))
async def nearly_the_right_password(run: Run) -> None:
    person = await add(run, new_password(run))
    with run.verdict("PWD-LOGIN-09"):
        for guess in (person.password.upper(), f" {person.password}", f"{person.password} "):
            run.recorder.secret(guess, "password")
            if (await is_wrong(run, person.email, guess)).status != 401:
                note("some guesses were not looked at, for they were too many")
