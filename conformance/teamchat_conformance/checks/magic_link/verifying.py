"""MAGIC-VER: a link signs in once, its own address alone, and for as long as it is good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.magic_link._area import area, link_token, verify
from teamchat_conformance.checks.signing_in import (
    TOKENS,
    belongs_to,
    garbage,
    inapplicable,
    not_available,
    one_succeeded,
    outlived,
    refused,
    somebody,
    taken,
)
from teamchat_conformance.checks.steps import at, no_failure, summary, together, wrong_values

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_AT_ONCE = 10
_SHORT_SECONDS = 30

area.required("MAGIC-VER-01", "§4 Sign-in", "The link's token and email answer both tokens", "magic", "mail")
area.required("MAGIC-VER-02", "§5 rule 2", "The access token is good for that user", "magic", "mail")
area.required("MAGIC-VER-03", "§2 Tokens", "A link works once", "magic", "mail")
area.required("MAGIC-VER-04", "§4 Sign-in", "A link works for its own email alone", "magic", "mail")
area.required("MAGIC-VER-05", "§8", "A link is refused after its lifetime", "magic", "mail", "short")
area.required("MAGIC-VER-06", "§7", "Without a token there is no sign-in", "magic")
area.required("MAGIC-VER-07", "§7", "A token that nobody gave out is refused", "magic")
area.required("MAGIC-VER-08", "§7", "An email that is missing or no text is refused", "magic", "mail")
area.recommended("MAGIC-VER-10", "D-15", "A newer link ends the older", "magic", "mail")
area.recorded("MAGIC-VER-11", "D-15", "Whether a wrong email spends a link", "magic", "mail")
area.recommended("MAGIC-VER-12", "D-22", "The link of a user who was removed is refused", "magic", "mail")
area.required("MAGIC-VER-13", "§2 Tokens", "Used many times at once, a link signs in once", "magic", "mail")
area.required("MAGIC-VER-14", "§4 Sign-in", "In other modes POST /auth/verify is not there", "notmagic")
area.recorded("MAGIC-VER-15", "§4 Sign-in", "Whether the token may stand in the body", "magic", "mail")


@area.scenario("MAGIC-VER-01", "MAGIC-VER-02", "MAGIC-VER-03", needs=("magic", "mail"))
async def a_link_signs_in_once(run: Run) -> None:
    person = await somebody(run)
    token = await link_token(run, person.email)
    answer = await verify(run.n, person.email, token)
    with run.verdict("MAGIC-VER-01"):
        answer.expect(200).shape(TOKENS)
    session = taken(run, answer)
    with run.verdict("MAGIC-VER-02"):
        await belongs_to(run, session, person.email)
    with run.verdict("MAGIC-VER-03"):
        refused(await verify(run.from_elsewhere(), person.email, token), 400, 401)


@area.scenario(
    "MAGIC-VER-04", "MAGIC-VER-08", "MAGIC-VER-10", "MAGIC-VER-11", "MAGIC-VER-15", needs=("magic", "mail")
)
async def a_link_is_for_one_person(run: Run) -> None:
    person, other, asker = await somebody(run), await somebody(run), run.from_elsewhere()
    token = await link_token(run, person.email)
    with run.verdict("MAGIC-VER-04"):
        refused(await verify(asker, other.email, token), 400, 401)
    run.record("MAGIC-VER-11", summary(no_failure(await verify(asker, person.email, token)), most=0))
    token = await link_token(run, person.email)
    with run.verdict("MAGIC-VER-08"):
        for body in ({}, *wrong_values("email")):
            refused(await asker.post("/auth/verify", body, token=token), 400, accept=(401,))
    older, newer = await link_token(run, person.email), await link_token(run, person.email)
    with run.verdict("MAGIC-VER-10"):
        refused(await verify(run.from_elsewhere(), person.email, older), 400, 401)
        taken(run, await verify(run.n, person.email, newer))
    body = {"email": person.email, "token": await link_token(run, person.email)}
    run.record("MAGIC-VER-15", summary(no_failure(await asker.post("/auth/verify", body)), most=0))


@area.scenario("MAGIC-VER-06", "MAGIC-VER-07", needs=("magic",))
async def no_link_no_sign_in(run: Run) -> None:
    with run.verdict("MAGIC-VER-06"):
        refused(await verify(run.from_elsewhere(), run.u.email, None), 401, accept=(400,))
    with run.verdict("MAGIC-VER-07"):
        refused(await verify(run.from_elsewhere(), run.u.email, garbage()), 400, 401)


@area.scenario("MAGIC-VER-12", "MAGIC-VER-13", needs=("magic", "mail"))
async def a_link_is_not_good_for_ever(run: Run) -> None:
    person = await somebody(run)
    token = await link_token(run, person.email)
    with run.verdict("MAGIC-VER-13"):
        asked = [verify(run.from_elsewhere(), person.email, token) for _ in range(_AT_ONCE)]
        taken(run, one_succeeded(await together(*asked), 400, 401))
    token = await link_token(run, person.email)
    (await run.a.delete(at("users", person.id))).expect(200)
    with run.verdict("MAGIC-VER-12"):
        refused(await verify(run.from_elsewhere(), person.email, token), 400, 401)


@area.scenario("MAGIC-VER-05", needs=("magic", "mail", "short"))
async def a_link_runs_out(run: Run) -> None:
    lifetime = run.instance.auth.magic_seconds
    if lifetime > _SHORT_SECONDS:
        inapplicable(run, "needs auth.magicLinkExpirySeconds to be short", "MAGIC-VER-05")
        return
    person = await somebody(run)
    token = await link_token(run, person.email)
    with run.verdict("MAGIC-VER-05"):
        await outlived(trio.current_time(), lifetime)
        refused(await verify(run.from_elsewhere(), person.email, token), 400, 401)


@area.scenario("MAGIC-VER-14", needs=("notmagic",))
async def other_modes_verify_nothing(run: Run) -> None:
    with run.verdict("MAGIC-VER-14"):
        not_available(await verify(run.n, run.u.email, garbage()))
