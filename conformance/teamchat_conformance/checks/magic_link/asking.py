"""MAGIC-REQ: asking for a link tells nobody who has an account, and mails those alone who may sign in."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from teamchat_conformance.checks.magic_link._area import area, ask_for_link, link_token, verify
from teamchat_conformance.checks.signing_in import (
    belongs_to,
    forget,
    inapplicable,
    listed,
    mail_to,
    no_mail_to,
    not_available,
    signs_out,
    sink,
    somebody,
    taken,
    token_of,
    took_seconds,
)
from teamchat_conformance.checks.steps import each_bad, no_failure, wrong_values
from teamchat_conformance.expect import require, text
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_TIMED = 20
_IN_A_ROW = 10

area.required("MAGIC-REQ-01", "§4 Sign-in", "Asking for a link answers 200, success true, a message", "magic")
area.required("MAGIC-REQ-02", "§4 Sign-in", "An unknown email gets the same answer", "magic", "invite")
area.required("MAGIC-REQ-03", "§4 Sign-in", "A known email gets a mail", "magic", "mail")
area.required(
    "MAGIC-REQ-04",
    "§4 Sign-in",
    "With invites required an unknown email gets none",
    "magic",
    "mail",
    "invite",
)
area.required("MAGIC-REQ-05", "§4 Sign-in", "One request sends one mail", "magic", "mail")
area.required(
    "MAGIC-REQ-06", "§5 rule 10", "Without invites an unknown email gets a link", "magic", "mail", "open"
)
area.recorded("MAGIC-REQ-07", "D-16", "How long known and unknown emails take", "magic")
area.required("MAGIC-REQ-08", "§7", "An email that is missing or no text is refused with 400", "magic")
area.recommended("MAGIC-REQ-09", "D-05", "An email with line ends sends no mail elsewhere", "magic", "mail")
area.required("MAGIC-REQ-10", "§4 Sign-in", "In other modes POST /auth/login is not there", "notmagic")
area.recorded("MAGIC-REQ-11", "§8", "How many links one address gets in a row", "magic", "mail")
area.required(
    "MAGIC-REQ-12", "§5 rule 9", "The admin gets a link and signs in as one", "magic", "mail", "invite"
)
area.required(
    "MAGIC-VER-09",
    "§5 rule 10",
    "Without invites a link makes an unknown email a user",
    "magic",
    "mail",
    "open",
)


@area.scenario("MAGIC-REQ-01", "MAGIC-REQ-02", "MAGIC-REQ-07", "MAGIC-REQ-08", needs=("magic",))
async def everybody_is_told_the_same(run: Run) -> None:
    known = await somebody(run)
    answer = await ask_for_link(run.n, known.email)
    with run.verdict("MAGIC-REQ-01"):
        answer.expect(200).shape({"success": True, "message": text})
    if run.has("invite"):
        with run.verdict("MAGIC-REQ-02"):
            other = await ask_for_link(run.n, run.email())
            require(other.ok() == answer.ok(), "an unknown email gets another answer than a known one")
    with run.verdict("MAGIC-REQ-08"):
        await each_bad(lambda body: run.n.post("/auth/login", body), [{}, *wrong_values("email")])
    times: dict[str, list[float]] = {"known": [], "unknown": []}
    asker = run.from_elsewhere()
    for _ in range(_TIMED):
        times["known"].append(took_seconds(run, no_failure(await ask_for_link(asker, known.email))))
        times["unknown"].append(took_seconds(run, no_failure(await ask_for_link(asker, run.email()))))
    run.record("MAGIC-REQ-07", {who: round(median(taken) * 1000, 2) for who, taken in times.items()})


@area.scenario("MAGIC-REQ-03", "MAGIC-REQ-04", "MAGIC-REQ-05", needs=("magic", "mail"))
async def those_alone_get_mail_who_may_sign_in(run: Run) -> None:
    known, unknown = await run.new_user(name="one who is known"), run.email()
    mark = sink(run).mark()
    if run.has("invite"):
        (await ask_for_link(run.n, unknown)).expect(200)
    (await ask_for_link(run.n, known.email)).expect(200)
    with run.verdict("MAGIC-REQ-03"):
        await mail_to(run, known.email, mark)
    if run.has("invite"):
        with run.verdict("MAGIC-REQ-04"):
            await no_mail_to(run, unknown, since=mark)
    with run.verdict("MAGIC-REQ-05"):
        await no_mail_to(run, since=mark)
        count = len(sink(run).to(known.email, since=mark))
        require(count == 1, f"one request sent {count} mails")


@area.scenario("MAGIC-REQ-06", "MAGIC-VER-09", needs=("magic", "mail", "open"))
async def anybody_may_sign_in(run: Run) -> None:
    email = run.email()
    mark = sink(run).mark()
    (await ask_for_link(run.n, email)).expect(200)
    with run.verdict("MAGIC-REQ-06"):
        token_of(run, await mail_to(run, email, mark))
    was_there = await listed(run, email)
    with run.verdict("MAGIC-VER-09"):
        session = taken(run, await verify(run.n, email, token_of(run, await mail_to(run, email, mark))))
        user = await belongs_to(run, session, email)
        forget(run, str(user["id"]))
        require(
            [one["id"] for one in await listed(run, email)] == [user["id"]], "the user is not listed once"
        )
        require(user.get("isAdmin") is False, "whoever signs in first is an admin")
        if was_there:
            note("the user is made when the link is asked for; D-15 has it made with the sign-in")


@area.scenario("MAGIC-REQ-09", needs=("magic", "mail"))
async def an_email_smuggles_no_header(run: Run) -> None:
    known, elsewhere = await run.new_user(name="one who is known"), run.email()
    mark = sink(run).mark()
    with run.verdict("MAGIC-REQ-09"):
        for smuggled in (
            f"{known.email}\r\nBcc: {elsewhere}",
            f"{known.email}\nTo: {elsewhere}",
            f"{known.email}>\r\nRCPT TO:<{elsewhere}>",
            f"{known.email}, {elsewhere}",
        ):
            (await ask_for_link(run.n, smuggled)).expect(200, 400)
        (await ask_for_link(run.n, known.email)).expect(200)
        await mail_to(run, known.email, mark)
        await no_mail_to(run, elsewhere, since=mark)
        named = [mail for mail in sink(run).mails[mark:] if elsewhere.encode() in mail.raw]
        require(not named, "a mail holds the address that was smuggled in")


@area.scenario("MAGIC-REQ-10", needs=("notmagic",))
async def other_modes_send_no_links(run: Run) -> None:
    with run.verdict("MAGIC-REQ-10"):
        not_available(await ask_for_link(run.n, run.u.email))


@area.scenario("MAGIC-REQ-12", needs=("magic", "mail", "invite"))
async def the_admin_gets_in(run: Run) -> None:
    if run.instance.auth.max_active_sessions < 2:
        inapplicable(run, "another session would end the admin's own", "MAGIC-REQ-12")
        return
    with run.verdict("MAGIC-REQ-12"):
        token = await link_token(run, run.a.email)
        session = taken(run, await verify(run.n, run.a.email, token))
        user = await belongs_to(run, session, run.a.email)
        await signs_out(run, session)
        require(user.get("isAdmin") is True, "the admin is none after signing in by a link")


@area.scenario("MAGIC-REQ-11", needs=("magic", "mail"), last=True)
async def many_links_in_a_row(run: Run) -> None:
    known, fence = await somebody(run), await run.new_user(name="one who asks once")
    mark = sink(run).mark()
    answers = [await ask_for_link(run.from_elsewhere(), known.email) for _ in range(_IN_A_ROW)]
    (await ask_for_link(run.from_elsewhere(), fence.email)).expect(200)
    await mail_to(run, fence.email, mark)
    await no_mail_to(run, since=mark)
    mails = len(sink(run).to(known.email, since=mark))
    run.record("MAGIC-REQ-11", {"statuses": [answer.status for answer in answers], "mails": mails})
