"""OAUTH-START, OAUTH-CB, OAUTH-MODE: the way from the button to a session, for those who may come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from teamchat_conformance.checks.browser import (
    Browser,
    agree,
    agreed,
    arrived,
    come_in,
    first,
    leads_to_application,
    location,
    provider,
    told,
)
from teamchat_conformance.checks.oauth._area import area, browsing, is_denied
from teamchat_conformance.checks.signing_in import (
    belongs_to,
    by_password,
    ended,
    forget,
    inapplicable,
    listed,
    refused,
    sign_in,
    signs_out,
    somebody,
    still_good,
    taken,
)
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.provider import profile

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.fixtures.provider import Grant
    from teamchat_conformance.run import Run

_FEWEST_CHARACTERS = 22
_KNOWN = {"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge"}

area.required("OAUTH-START-01", "§4 OAuth", "A start is a 302 to the provider's authorization URL", "idp")
area.required(
    "OAUTH-START-02", "§5 oauth.custom", "It asks for a code, as the client that is configured", "idp"
)
area.required("OAUTH-START-03", "§5 rule 13", "It carries a state", "idp")
area.required("OAUTH-START-04", "§5 rule 13", "No state is like another, nor can one be guessed", "idp")
area.required("OAUTH-START-06", "§5 rule 15", "redirect_uri is the callback of this provider", "idp")
area.recommended("OAUTH-START-08", "D-20", "It carries a PKCE challenge (S256)", "idp")
area.required("OAUTH-CB-01", "§4 OAuth", "A known user arrives at the application with both tokens", "idp")
area.required("OAUTH-CB-02", "§4 OAuth", "expires_in is the lifetime of an access token", "idp")
area.required("OAUTH-CB-03", "§5 rule 13", "Both tokens are good for the user of the profile's email", "idp")
area.required(
    "OAUTH-CB-04", "§5 rule 13", "The code is exchanged as it was asked for, with the secret", "idp"
)
area.required("OAUTH-CB-05", "§5 rule 13", "The profile is asked for with the provider's token", "idp")
area.required("OAUTH-CB-06", "§5 rule 13", "A state works once", "idp")
area.required(
    "OAUTH-CB-17", "§5 rule 14", "With invites required an unknown email is denied", "idp", "invite"
)
area.required("OAUTH-CB-18", "§5 rule 14", "Without invites an unknown email becomes a user", "idp", "open")
area.required("OAUTH-CB-19", "§5 rule 9", "The admin comes in as one", "idp", "invite")
area.required("OAUTH-CB-20", "§5 rule 13", "Coming in again changes and adds nobody", "idp")
area.required("OAUTH-CB-28", "§4 OAuth", "Success and failure both lead to the application", "idp")
area.recommended(
    "OAUTH-CB-29", "D-40", "The first proof of an address ends what was got without one", "idp", "pw", "open"
)
area.required("OAUTH-MODE-01", "§1", "Beside it the other way to sign in works", "idp", "notdev")
area.required("OAUTH-MODE-02", "§5 Modes", "Both ways lead to one user", "idp", "notdev")


@browsing(
    "OAUTH-START-01", "OAUTH-START-02", "OAUTH-START-03", "OAUTH-START-04", "OAUTH-START-06",
    "OAUTH-START-08", "OAUTH-CB-01", "OAUTH-CB-02", "OAUTH-CB-03", "OAUTH-CB-04", "OAUTH-CB-05",
    "OAUTH-CB-06", "OAUTH-CB-20", "OAUTH-CB-27", "OAUTH-CB-28", "OAUTH-MODE-01", "OAUTH-MODE-02",
    sign_ins=2, needs=("notdev",),
)  # fmt: skip
async def a_known_user(run: Run, browser: Browser) -> None:
    person = await somebody(run)
    before = await listed(run, person.email)
    who = profile(person.email, name="Another Name", preferred_username="another", role="admin", isAdmin=True)
    start = await browser.start(first(run).id)
    with run.verdict("OAUTH-START-01"):
        wanted = provider(run).url(first(run).id, "authorize")
        require(location(start).partition("?")[0] == wanted, f"the start leads to {location(start)[:200]}")
    grant = agreed(run, start, who)
    _what_was_asked(run, grant)
    answer = await browser.callback(first(run).id, grant.callback)
    with run.verdict("OAUTH-CB-01"):
        arrived(run, answer)
    _what_the_provider_got(run, grant)
    session = arrived(run, answer)
    with run.verdict("OAUTH-CB-02"):
        lifetime = str(run.instance.auth.access_seconds)
        require(told(answer).get("expires_in") == lifetime, f"expires_in is not {lifetime}")
    with run.verdict("OAUTH-CB-03"):
        await belongs_to(run, session, person.email)
        session = await still_good(run, session)
    again = await _spent_state(run, browser, grant, agreed(run, start, who))
    if run.instance.auth.app_url:
        with run.verdict("OAUTH-CB-28"):
            for one in (answer, again):
                leads_to_application(run, one)
    else:
        inapplicable(run, "auth.app_url is not declared", "OAUTH-CB-28")
    another = await agree(run, browser, who)
    with run.verdict("OAUTH-START-04"):
        states = [one.asked.get("state", "") for one in (grant, another)]
        require(states[0] != states[1], "two starts have one state")
        require(min(map(len, states)) >= _FEWEST_CHARACTERS, "a state can be guessed")
    with run.verdict("OAUTH-CB-20"):
        second = arrived(run, await browser.callback(first(run).id, another.callback))
        await belongs_to(run, second, person.email)
        require(await listed(run, person.email) == before, "the user changed, or became two")
    other_way = await sign_in(run, person)
    with run.verdict("OAUTH-MODE-01"):
        await belongs_to(run, other_way, person.email)
    with run.verdict("OAUTH-MODE-02"):
        ids = {(await belongs_to(run, one, person.email))["id"] for one in (session, other_way)}
        require(ids == {person.id}, "the two ways to sign in lead to two users")


async def _spent_state(run: Run, browser: Browser, grant: Grant, fresh: Grant) -> Answered:
    """Come back with a state that was used, with a code that was not, and with one that was too."""
    answer = await browser.callback(first(run).id, fresh.callback)
    is_denied(run, "OAUTH-CB-06", answer)
    is_denied(run, "OAUTH-CB-06", await browser.callback(first(run).id, grant.callback))
    return answer


def _what_was_asked(run: Run, grant: Grant) -> None:
    asked = grant.asked
    with run.verdict("OAUTH-START-02"):
        _asks_for_a_code(run, asked)
    with run.verdict("OAUTH-START-03"):
        require(asked.get("state"), "the start has no state")
    with run.verdict("OAUTH-START-06"):
        path = urlsplit(asked.get("redirect_uri", "")).path
        require(path.endswith(f"/auth/oauth/{first(run).id}/callback"), f"the path of redirect_uri is {path}")
    with run.verdict("OAUTH-START-08") as finding:
        finding.value = sorted(asked.keys() - _KNOWN)
        require(asked.get("code_challenge_method") == "S256", "the start has no PKCE challenge (S256)")
        require(len(asked.get("code_challenge", "")) == 43, "the PKCE challenge is not 43 characters long")


def _asks_for_a_code(run: Run, asked: Mapping[str, str]) -> None:
    configured = first(run)
    require(asked.get("response_type") == "code", f"response_type is {asked.get('response_type')}")
    require(asked.get("client_id") == configured.client_id, f"client_id is {asked.get('client_id')}")
    scopes = set(asked.get("scope", "").split())
    require(scopes == set(configured.scopes.split()), f"scope is {asked.get('scope')}")
    wanted = configured.redirect_uri or asked.get("redirect_uri")
    require(wanted and asked.get("redirect_uri") == wanted, f"redirect_uri is {asked.get('redirect_uri')}")


def _what_the_provider_got(run: Run, grant: Grant) -> None:
    with run.verdict("OAUTH-CB-04"):
        got = grant.requests.get("token", [])
        require(len(got) == 1, f"the token URL was asked {len(got)} times")
        kind = got[0].headers.get("content-type", "").partition(";")[0]
        require(got[0].method == "POST" and kind == "application/x-www-form-urlencoded", "no form was posted")
        form, given = got[0].form, got[0].basic
        require(form.get("grant_type") == "authorization_code", f"grant_type is {form.get('grant_type')}")
        require(form.get("code") == grant.code, "the code is another")
        require(form.get("redirect_uri") == grant.asked.get("redirect_uri"), "redirect_uri is another")
        given = given or (form.get("client_id", ""), form.get("client_secret", ""))
        wanted = (grant.provider.client_id, grant.provider.client_secret)
        require(given == wanted, "the client's id and secret are not those of the configuration")
    with run.verdict("OAUTH-CB-05"):
        require(grant.requests.get("userinfo"), "the profile was not asked for with the token that was given")


@browsing("OAUTH-CB-17", "OAUTH-CB-27", sign_ins=1, needs=("invite",))
async def nobody_who_was_invited(run: Run, browser: Browser) -> None:
    email = run.email()
    answer = await come_in(run, browser, profile(email))
    is_denied(run, "OAUTH-CB-17", answer)
    with run.verdict("OAUTH-CB-17"):
        require(not await listed(run, email), "the user is there, though they were denied")


@browsing("OAUTH-CB-18", sign_ins=1, needs=("open",))
async def somebody_new(run: Run, browser: Browser) -> None:
    email = run.email()
    answer = await come_in(run, browser, profile(email, role="admin", isAdmin=True))
    for user in await listed(run, email):
        forget(run, str(user["id"]))
    with run.verdict("OAUTH-CB-18"):
        user = await belongs_to(run, arrived(run, answer), email)
        found = await listed(run, email)
        require([one["id"] for one in found] == [user["id"]], "who came in is not listed once")
        require(found[0].get("isAdmin") is False, "who came in is an admin")


@browsing("OAUTH-CB-19", sign_ins=1, needs=("invite",))
async def the_admin(run: Run, browser: Browser) -> None:
    if run.instance.auth.max_active_sessions < 2:
        inapplicable(run, "another session would end the admin's own", "OAUTH-CB-19")
        return
    with run.verdict("OAUTH-CB-19"):
        session = arrived(run, await come_in(run, browser, profile(run.a.email)))
        user = await belongs_to(run, session, run.a.email)
        await signs_out(run, session)
        require(user.get("isAdmin") is True, "the admin is none after coming in through a provider")


@browsing("OAUTH-CB-29", sign_ins=1, needs=("pw", "open"))
async def an_address_that_somebody_took_before(run: Run, browser: Browser) -> None:
    email, password = run.email(), run.recorder.secret(run.text("a passphrase"), "password")
    early = taken(run, await run.n.post("/auth/register", {"email": email, "password": password}))
    for user in await listed(run, email):
        forget(run, str(user["id"]))
    answer = await come_in(run, browser, profile(email, email_verified=True))
    with run.verdict("OAUTH-CB-29"):
        await belongs_to(run, arrived(run, answer), email)
        await ended(run, early)
        (await run.n.get("/auth/me", token=early.access)).error(401)
        refused(await by_password(run.from_elsewhere(), email, password), 401)
