"""PWD-LOGIN-10 to -13, PWD-LEN: what may be a password, and that all of it counts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from teamchat_conformance.checks.passwords._area import (
    SHORT,
    area,
    is_wrong,
    new_password,
    reset_by,
    signs_in,
)
from teamchat_conformance.checks.signing_in import add, by_password, listed, refused
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_LONG = 1_000
_HUGE = 1_000_000
_PATIENCE_SECONDS = 5
_CUT_BY_BCRYPT = 72

area.recommended("PWD-LOGIN-10", "D-17", "A password of any script, with emoji and spaces, works", "pw")
area.required("PWD-LOGIN-11", "§5 rule 3", "All of a long password counts, beyond 72 bytes too", "pw")
area.recommended("PWD-LOGIN-12", "D-17", "1,000 characters work or are refused, 1 MB does no harm", "pw")
area.recommended("PWD-LOGIN-13", "D-17", "Letters composed otherwise are the same password", "pw")
area.required("PWD-LEN-01", "§5 rule 3", "A user is not added with a password of 7 characters", "pw")
area.required("PWD-LEN-02", "§7", "The user of a password that was refused is not there", "pw")
area.required("PWD-LEN-03", "§8", "8 characters are enough", "pw")
area.required("PWD-LEN-04", "§8", "It is characters that are counted, not bytes", "pw")


@area.scenario("PWD-LOGIN-10", "PWD-LOGIN-11", "PWD-LOGIN-13", needs=("pw",))
async def every_letter_counts(run: Run) -> None:
    with run.verdict("PWD-LOGIN-10"):
        odd = await add(
            run, new_password(run, "\U0001f511 \u0441\u0435\u043a\u0440\u0435\u0442 \u79d8\u5bc6")
        )
        await signs_in(run, odd.email, odd.password)
    with run.verdict("PWD-LOGIN-11"):
        start = new_password(run).ljust(_CUT_BY_BCRYPT, ".")
        one, two = await add(run, f"{start} of one"), await add(run, f"{start} of two")
        for person, other in ((one, two), (two, one)):
            await signs_in(run, person.email, person.password)
            await is_wrong(run, person.email, other.password)
    with run.verdict("PWD-LOGIN-13"):
        composed = new_password(run, "caf\u00e9 \u00fcber")
        decomposed = run.recorder.secret(
            composed.replace("\u00e9", "e\u0301").replace("\u00fc", "u\u0308"), "password"
        )
        for given, typed in ((composed, decomposed), (decomposed, composed)):
            person = await add(run, given)
            await signs_in(run, person.email, typed)


@area.scenario("PWD-LOGIN-12", needs=("pw",))
async def very_long_passwords(run: Run) -> None:
    with run.verdict("PWD-LOGIN-12"):
        long = new_password(run).ljust(_LONG, "x")
        body = {"email": run.email(), "role": "user", "password": long}
        answer = await run.a.post("/users/add", body)
        if answer.status == 400:
            note("a password of 1,000 characters is refused")
            return
        user_id = str(answer.ok()["userId"])
        run.undo_with(f"user {user_id}", lambda: run.a.delete(f"/users/{user_id}"))
        await signs_in(run, body["email"], long)
        await is_wrong(run, body["email"], long[:-1])
        began = time.monotonic()
        huge = await by_password(run.from_elsewhere(), body["email"], "x" * _HUGE)
        refused(huge, 413, 400, 401)
        took = time.monotonic() - began
        require(took < run.wait(_PATIENCE_SECONDS), f"1 MB of password was refused after {took:.1f} s")


@area.scenario("PWD-LEN-01", "PWD-LEN-02", "PWD-LEN-03", "PWD-LEN-04", needs=("pw",))
async def eight_characters(run: Run) -> None:
    email = run.email()
    body = {"email": email, "role": "user", "password": SHORT}
    with run.verdict("PWD-LEN-01"):
        (await run.a.post("/users/add", body)).error(400)
    with run.verdict("PWD-LEN-02"):
        require(not await listed(run, email), "the user is there, though their password was refused")
    with run.verdict("PWD-LEN-03"):
        person = await add(run, "8 chars!")
        await signs_in(run, person.email, person.password)
        (await reset_by(run.a, person.id, "8 again!")).ok()
        await signs_in(run, person.email, "8 again!")
    with run.verdict("PWD-LEN-04"):
        keys = "\U0001f511" * 7
        other = {**body, "email": run.email(), "password": keys}  # who was refused before may be there
        (await run.a.post("/users/add", other)).error(400)
        person = await add(run, f"{keys}\U0001f6aa")
        await signs_in(run, person.email, person.password)
        person = await add(run, "e\u0301" * 8)
        await signs_in(run, person.email, person.password)
