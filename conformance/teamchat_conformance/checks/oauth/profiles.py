"""OAUTH-CB-21, -22: what of a profile counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.browser import Browser, arrived, come_in, denied, told
from teamchat_conformance.checks.oauth._area import area, browsing
from teamchat_conformance.checks.signing_in import belongs_to, forget, listed, somebody
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.provider import profile
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area.recorded("OAUTH-CB-21", "§5 rule 14", "What userName is made of a profile", "idp", "open")
area.recommended("OAUTH-CB-22", "D-20", "An email counts if it is verified, in whatever letters", "idp")


@browsing("OAUTH-CB-22", sign_ins=3)
async def whose_email_it_is(run: Run, browser: Browser) -> None:
    with run.verdict("OAUTH-CB-22"):
        person = await somebody(run)
        denied(await come_in(run, browser, profile(person.email, email_verified=False)))
        without = {name: value for name, value in profile(person.email).items() if name != "email_verified"}
        denied(await come_in(run, browser, without))
        answer = await come_in(run, browser, profile(person.email.upper()))
        user = await belongs_to(run, arrived(run, answer), person.email)
        require(user["id"] == person.id, "an email in other letters leads to another user")
        if user["email"] != person.email:
            note("the user's email has taken on the letters of the profile")


@browsing("OAUTH-CB-21", sign_ins=4, needs=("open",))
async def names_of_newcomers(run: Run, browser: Browser) -> None:
    about = run.text("newcomer")
    kinds: dict[str, dict[str, Any]] = {
        "name": {"name": f"{about} A"},
        "preferred_username": {"preferred_username": f"{about} B"},
        "neither": {},
        "id in place of sub": {"id": f"subject {run.id}", "name": f"{about} C"},
    }
    seen = {}
    for kind, fields in kinds.items():
        email = run.email()
        who = profile(email, **fields)
        if "id" in fields:
            who.pop("sub")
        answer = await come_in(run, browser, who)
        found = await listed(run, email)
        for user in found:
            forget(run, str(user["id"]))
        seen[kind] = _name_made(answer, found, fields)
    run.record("OAUTH-CB-21", seen)


def _name_made(answer: Answered, found: list[dict[str, Any]], fields: dict[str, Any]) -> str:
    if not found:
        return f"nobody: {told(answer).get('oauth_error')}"
    name = str(found[0]["userName"])
    if name in fields.values():
        return "as the profile says"
    return "the email's local part" if found[0]["email"].startswith(name) else "something else"
