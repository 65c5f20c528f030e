"""PWD-SETUP: an invitation lets one person set one password, once."""

from __future__ import annotations

from email.utils import getaddresses
from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.passwords._area import (
    SHORT,
    area,
    invitation,
    invited,
    is_wrong,
    new_password,
    set_up,
    signs_in,
)
from teamchat_conformance.checks.signing_in import (
    TIMED_TOKENS,
    add,
    belongs_to,
    garbage,
    inapplicable,
    leads_to_application,
    link_of,
    not_available,
    outlived,
    refused,
    still_good,
    taken,
    token_of,
)
from teamchat_conformance.checks.steps import NOT_TEXT, no_failure
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_SHORT_SECONDS = 30

area.required("PWD-SETUP-01", "§5 rule 4", "An invitation's token sets a password and signs in", "pw", "mail")
area.required("PWD-SETUP-02", "§4 Sign-in", "The token may stand in the Bearer header", "pw", "mail")
area.required("PWD-SETUP-03", "§5 rule 4", "Both tokens of that session are good", "pw", "mail")
area.required("PWD-SETUP-04", "§5 rule 4", "The password signs in from then on", "pw", "mail")
area.required("PWD-SETUP-05", "§4 Sign-in", "A token that nobody gave out is refused with 400", "pw")
area.required("PWD-SETUP-06", "§4 Sign-in", "7 characters are refused with 400 and not set", "pw", "mail")
area.required("PWD-SETUP-07", "§4 Sign-in", "8 characters are enough", "pw", "mail")
area.recommended("PWD-SETUP-08", "§5 rule 4", "A refused password does not spend the link", "pw", "mail")
area.required("PWD-SETUP-09", "§2 Tokens", "An invitation works once", "pw", "mail")
area.required("PWD-SETUP-10", "§4 Sign-in", "An invitation works for its own email alone", "pw", "mail")
area.recommended("PWD-SETUP-11", "D-15", "An invitation is refused after its lifetime", "pw", "mail", "short")
area.required("PWD-SETUP-12", "§7", "A field that is missing or no text is refused with 400", "pw", "mail")
area.recorded("PWD-SETUP-13", "§4 Sign-in", "Which of two tokens counts, in body and header", "pw", "mail")
area.required("PWD-SETUP-14", "§4 Sign-in", "In other modes POST /auth/setup-password is not there", "notpw")
area.recommended(
    "PWD-SETUP-15",
    "§5 auth.appUrl",
    "The mail is to who is invited, its link to the application",
    "pw",
    "mail",
)


@area.scenario(
    "PWD-SETUP-01", "PWD-SETUP-03", "PWD-SETUP-04", "PWD-SETUP-09", "PWD-SETUP-15", needs=("pw", "mail")
)
async def an_invitation(run: Run) -> None:
    person, mail = await invited(run)
    token, password = token_of(run, mail), new_password(run)
    with run.verdict("PWD-SETUP-15"):
        to = [address for _, address in getaddresses([str(mail.message["To"])])]
        require(to == [person.email] == list(mail.recipients), f"the invitation went to {to}")
        require(mail.text and mail.html, "the invitation lacks its text or its HTML")
        require(link_of(run, mail.text) == link_of(run, mail.html), "text and HTML hold different links")
        if run.instance.auth.app_url:
            leads_to_application(run, link_of(run, mail.text))
    answer = await set_up(run.n, person.email, token, password)
    with run.verdict("PWD-SETUP-01"):
        answer.expect(200).shape(TIMED_TOKENS)
    session = taken(run, answer)
    with run.verdict("PWD-SETUP-03"):
        await belongs_to(run, session, person.email)
        await belongs_to(run, await still_good(run, session), person.email)
    with run.verdict("PWD-SETUP-04"):
        await signs_in(run, person.email, password)
    with run.verdict("PWD-SETUP-09"):
        refused(await set_up(run.from_elsewhere(), person.email, token, new_password(run)), 400)
        await signs_in(run, person.email, password)


@area.scenario("PWD-SETUP-02", "PWD-SETUP-12", "PWD-SETUP-13", needs=("pw", "mail"))
async def where_the_token_stands(run: Run) -> None:
    person, token = await invitation(run)
    good = {"email": person.email, "token": token, "password": new_password(run)}
    asker = run.from_elsewhere()
    with run.verdict("PWD-SETUP-12"):
        for field in good:
            without = {name: value for name, value in good.items() if name != field}
            refused(await asker.post("/auth/setup-password", without), 400)
            for value in NOT_TEXT:
                refused(await asker.post("/auth/setup-password", {**good, field: value}), 400)
    with run.verdict("PWD-SETUP-02"):
        body = {"email": person.email, "password": good["password"]}
        taken(run, await run.n.post("/auth/setup-password", body, token=token))
    other, token = await invitation(run)
    body = {"email": other.email, "password": new_password(run)}
    seen = {}
    for wrong, in_body, in_header in (("in the body", garbage(), token), ("in the header", token, garbage())):
        answer = await asker.post("/auth/setup-password", {**body, "token": in_body}, token=in_header)
        seen[f"wrong {wrong}"] = no_failure(answer).status
    run.record("PWD-SETUP-13", seen)


@area.scenario("PWD-SETUP-06", "PWD-SETUP-07", "PWD-SETUP-08", needs=("pw", "mail"))
async def a_short_password(run: Run) -> None:
    person, token = await invitation(run)
    with run.verdict("PWD-SETUP-06"):
        refused(await set_up(run.from_elsewhere(), person.email, token, SHORT), 400)
        await is_wrong(run, person.email, SHORT)
    with run.verdict("PWD-SETUP-08"):
        taken(run, await set_up(run.n, person.email, token, new_password(run)))
    other, token = await invitation(run)
    with run.verdict("PWD-SETUP-07"):
        taken(run, await set_up(run.n, other.email, token, "8 chars!"))
        await signs_in(run, other.email, "8 chars!")


@area.scenario("PWD-SETUP-05", needs=("pw",))
async def a_token_of_nobody(run: Run) -> None:
    person = await add(run, new_password(run))
    with run.verdict("PWD-SETUP-05"):
        refused(await set_up(run.from_elsewhere(), person.email, garbage(), new_password(run)), 400)
        await signs_in(run, person.email, person.password)


@area.scenario("PWD-SETUP-10", needs=("pw", "mail"))
async def an_invitation_of_somebody_else(run: Run) -> None:
    _, token = await invitation(run)
    other, password = await add(run, new_password(run)), new_password(run)
    with run.verdict("PWD-SETUP-10"):
        refused(await set_up(run.from_elsewhere(), other.email, token, password), 400)
        await is_wrong(run, other.email, password)
        await signs_in(run, other.email, other.password)


@area.scenario("PWD-SETUP-11", needs=("pw", "mail", "short"))
async def an_invitation_runs_out(run: Run) -> None:
    lifetime = run.instance.auth.magic_seconds
    if lifetime > _SHORT_SECONDS:
        inapplicable(run, "needs links with a short lifetime", "PWD-SETUP-11")
        return
    person, token = await invitation(run)
    with run.verdict("PWD-SETUP-11"):
        await outlived(trio.current_time(), lifetime)
        refused(await set_up(run.from_elsewhere(), person.email, token, new_password(run)), 400)


@area.scenario("PWD-SETUP-14", needs=("notpw",))
async def other_modes_set_no_passwords(run: Run) -> None:
    with run.verdict("PWD-SETUP-14"):
        not_available(await set_up(run.n, run.u.email, garbage(), new_password(run)))
