"""PWD-RESET: who forgot their password gets a mail, and nobody learns whether there is an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.passwords._area import (
    area,
    ask_for_reset,
    invited,
    is_wrong,
    new_password,
    reset_token,
    set_up,
    signs_in,
)
from teamchat_conformance.checks.signing_in import (
    TIMED_TOKENS,
    add,
    belongs_to,
    ended,
    mail_to,
    no_mail_to,
    not_available,
    refused,
    sign_in,
    sink,
    taken,
)
from teamchat_conformance.checks.steps import each_bad, wrong_values
from teamchat_conformance.expect import require, text

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_IN_A_ROW = 10

area.required("PWD-RESET-01", "§4 Sign-in", "Asking answers 200, success true, a message", "pw")
area.required("PWD-RESET-02", "§4 Sign-in", "An unknown email gets the same answer", "pw")
area.required("PWD-RESET-03", "§5 rule 7", "Who has a password gets a mail", "pw", "mail")
area.required("PWD-RESET-04", "§5 rule 7", "An unknown email gets none", "pw", "mail")
area.required("PWD-RESET-05", "§5 rule 7", "Who has no password yet gets none", "pw", "mail")
area.required("PWD-RESET-06", "§5 rule 7", "The link sets another password and signs in", "pw", "mail")
area.required("PWD-RESET-07", "§5 rule 7", "The new password is right then, the old one wrong", "pw", "mail")
area.required("PWD-RESET-08", "§5 rule 3", "Without mail the answer is the same", "pw", "nomail")
area.recommended("PWD-RESET-09", "D-02", "An email that is missing or no text is refused with 400", "pw")
area.recommended("PWD-RESET-10", "D-17", "Another password ends the sessions from before", "pw", "mail")
area.recorded("PWD-RESET-11", "§8", "How many mails one address gets in a row", "pw", "mail")
area.required("PWD-RESET-12", "§4 Sign-in", "In other modes the endpoint is not there", "notpw")
area.recommended("PWD-RESET-13", "D-15", "A newer link ends the older", "pw", "mail")


@area.scenario("PWD-RESET-01", "PWD-RESET-02", "PWD-RESET-08", "PWD-RESET-09", needs=("pw",))
async def everybody_is_told_the_same(run: Run) -> None:
    known = await add(run, new_password(run))
    answer, other = await ask_for_reset(run.n, known.email), await ask_for_reset(run.n, run.email())
    with run.verdict("PWD-RESET-01"):
        answer.expect(200).shape({"success": True, "message": text})
    with run.verdict("PWD-RESET-02"):
        require(other.ok() == answer.ok(), "an unknown email gets another answer than a known one")
    if run.has("nomail"):
        with run.verdict("PWD-RESET-08"):
            answer.expect(200).shape({"success": True})
            await signs_in(run, known.email, known.password)
    with run.verdict("PWD-RESET-09"):
        await each_bad(
            lambda body: run.n.post("/auth/request-password-reset", body), [{}, *wrong_values("email")]
        )


@area.scenario("PWD-RESET-03", "PWD-RESET-04", "PWD-RESET-05", needs=("pw", "mail"))
async def those_alone_get_mail_who_have_a_password(run: Run) -> None:
    blank, _ = await invited(run)
    known, unknown = await add(run, new_password(run)), run.email()
    mark = sink(run).mark()
    for email in (unknown, blank.email):
        (await ask_for_reset(run.n, email)).expect(200)
    (await ask_for_reset(run.n, known.email)).expect(200)
    with run.verdict("PWD-RESET-03"):
        await mail_to(run, known.email, mark)
        await no_mail_to(run, since=mark)
        count = len(sink(run).to(known.email, since=mark))
        require(count == 1, f"one request sent {count} mails")
    with run.verdict("PWD-RESET-04"):
        await no_mail_to(run, unknown, since=mark)
    with run.verdict("PWD-RESET-05"):
        await no_mail_to(run, blank.email, since=mark)


@area.scenario("PWD-RESET-06", "PWD-RESET-07", "PWD-RESET-10", "PWD-RESET-13", needs=("pw", "mail"))
async def a_forgotten_password(run: Run) -> None:
    person, password = await add(run, new_password(run)), new_password(run)
    before = await sign_in(run, person)
    older, newer = await reset_token(run, person.email), await reset_token(run, person.email)
    with run.verdict("PWD-RESET-13"):
        refused(await set_up(run.from_elsewhere(), person.email, older, new_password(run)), 400)
    answer = await set_up(run.n, person.email, newer, password)
    with run.verdict("PWD-RESET-06"):
        answer.expect(200).shape(TIMED_TOKENS)
        await belongs_to(run, taken(run, answer), person.email)
    with run.verdict("PWD-RESET-07"):
        await is_wrong(run, person.email, person.password)
        await signs_in(run, person.email, password)
    with run.verdict("PWD-RESET-10"):
        await ended(run, before)
        (await run.n.get("/auth/me", token=before.access)).error(401)


@area.scenario("PWD-RESET-11", needs=("pw", "mail"), last=True)
async def many_requests_in_a_row(run: Run) -> None:
    known, fence = await add(run, new_password(run)), await add(run, new_password(run))
    mark = sink(run).mark()
    answers = [await ask_for_reset(run.from_elsewhere(), known.email) for _ in range(_IN_A_ROW)]
    (await ask_for_reset(run.from_elsewhere(), fence.email)).expect(200)
    await mail_to(run, fence.email, mark)
    await no_mail_to(run, since=mark)
    mails = len(sink(run).to(known.email, since=mark))
    run.record("PWD-RESET-11", {"statuses": [answer.status for answer in answers], "mails": mails})


@area.scenario("PWD-RESET-12", needs=("notpw",))
async def other_modes_reset_nothing(run: Run) -> None:
    with run.verdict("PWD-RESET-12"):
        not_available(await ask_for_reset(run.n, run.u.email))
