"""OAUTH-CB: a callback that does not belong to a sign-in under way ends it, at the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.browser import (
    Browser,
    addresses_of,
    agree,
    agreed,
    arrived,
    denied,
    first,
    leads_to_application,
    location,
    told,
)
from teamchat_conformance.checks.oauth._area import area, browsing, is_denied
from teamchat_conformance.checks.signing_in import belongs_to, garbage, inapplicable, somebody
from teamchat_conformance.checks.steps import together
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.provider import profile

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_AT_ONCE = 5
_STATE_SECONDS = 600
_HOSTILE = "no\r\nX-Smuggled: yes\r\n\r\n<script>alert(1)</script>" + "x" * 5_000

area.required("OAUTH-CB-07", "§4 OAuth", "A callback without a state is denied", "idp")
area.required("OAUTH-CB-08", "§4 OAuth", "A callback without a code is denied", "idp")
area.required("OAUTH-CB-09", "§4 OAuth", "A state of nobody is denied, and no code exchanged", "idp")
area.recommended("OAUTH-CB-10", "D-20", "A state works for its own provider alone", "idp", "idp2")
area.required("OAUTH-CB-11", "§5 rule 13", "A state works at its own client address alone", "idp", "ips")
area.required("OAUTH-CB-13", "§4 OAuth", "Who does not agree at the provider is denied", "idp")
area.required("OAUTH-CB-23", "§4 OAuth", "No query leads anywhere but to the application", "idp")
area.recommended("OAUTH-CB-24", "RFC 9110 §5.5", "What a provider says of an error does no harm", "idp")
area.required("OAUTH-CB-25", "§5 rule 13", "Of one callback sent several times at once one succeeds", "idp")
area.recommended("OAUTH-CB-26", "D-20", "A state is over after ten minutes", "idp", "slow")


@browsing("OAUTH-CB-07", "OAUTH-CB-08", "OAUTH-CB-09", "OAUTH-CB-27", sign_ins=1)
async def what_is_missing(run: Run, browser: Browser) -> None:
    person, id = await somebody(run), first(run).id
    grant = await agree(run, browser, profile(person.email))
    is_denied(run, "OAUTH-CB-07", await browser.callback(id, {"code": grant.code}))
    is_denied(run, "OAUTH-CB-09", await browser.callback(id, {**grant.callback, "state": garbage()}))
    with run.verdict("OAUTH-CB-09"):
        require(not grant.requests.get("token"), "a code was exchanged for a state of nobody")
    is_denied(run, "OAUTH-CB-08", await browser.callback(id, {"state": grant.callback["state"]}))


@browsing("OAUTH-CB-13", "OAUTH-CB-27", sign_ins=1)
async def who_does_not_agree(run: Run, browser: Browser) -> None:
    state = told(await browser.start(first(run).id)).get("state", "")
    answer = await browser.callback(first(run).id, {"error": "access_denied", "state": state})
    is_denied(run, "OAUTH-CB-13", answer)


@browsing("OAUTH-CB-10", "OAUTH-CB-27", sign_ins=1, needs=("idp2",))
async def the_other_provider(run: Run, browser: Browser) -> None:
    grant = await agree(run, browser, profile((await somebody(run)).email))
    is_denied(run, "OAUTH-CB-10", await browser.callback(run.instance.oauth.provider[1].id, grant.callback))


@browsing("OAUTH-CB-11", "OAUTH-CB-27", sign_ins=1, needs=("ips",))
async def another_address(run: Run, browser: Browser) -> None:
    other = addresses_of(run).browser(1, is_fresh=True)
    if other is None:
        inapplicable(run, "needs another client address that is fresh", "OAUTH-CB-11")
        return
    grant = await agree(run, browser, profile((await somebody(run)).email))
    other.cookies.update(browser.cookies)
    is_denied(run, "OAUTH-CB-11", await other.callback(first(run).id, grant.callback))


@browsing("OAUTH-CB-23", sign_ins=1)
async def another_place_to_go(run: Run, browser: Browser) -> None:
    person, elsewhere = await somebody(run), "https://elsewhere.example/"
    lures = dict.fromkeys(("redirect", "next", "redirect_uri", "return_to", "appUrl"), elsewhere)
    with run.verdict("OAUTH-CB-23"):
        start = await browser.start(first(run).id, **lures)
        require("elsewhere.example" not in location(start), "the provider is told to send people elsewhere")
        grant = agreed(run, start, profile(person.email))
        answer = await browser.callback(first(run).id, {**grant.callback, **lures})
        require("elsewhere.example" not in location(answer), f"the redirect leads to {location(answer)[:80]}")
        leads_to_application(run, answer)
        await belongs_to(run, arrived(run, answer), person.email)


@browsing("OAUTH-CB-24", sign_ins=2)
async def a_hostile_error(run: Run, browser: Browser) -> None:
    with run.verdict("OAUTH-CB-24"):
        for query in (
            {"error": "access_denied", "error_description": _HOSTILE},
            {"error": _HOSTILE},
        ):
            state = told(await browser.start(first(run).id)).get("state", "")
            answer = await browser.callback(first(run).id, {**query, "state": state})
            denied(answer)
            leads_to_application(run, answer)
            led = [value for name, value in answer.headers if name == "location"]
            require(len(led) == 1, "the answer has several headers Location")
            require(answer.header("x-smuggled") is None, "the provider's text became a header")
            require(not set(led[0]) & set("<>\"' \r\n"), "the provider's text stands in Location as it came")
            require(b"<script>" not in answer.body, "the provider's text stands in the body as it came")


@browsing("OAUTH-CB-25", sign_ins=3)
async def several_at_once(run: Run, browser: Browser) -> None:
    grant = await agree(run, browser, profile((await somebody(run)).email))
    with run.verdict("OAUTH-CB-25"):
        answers = await together(*(browser.callback(first(run).id, grant.callback) for _ in range(_AT_ONCE)))
        good = [answer for answer in answers if "access_token" in told(answer)]
        require(len(good) == 1, f"of {_AT_ONCE} callbacks at once {len(good)} succeeded")
        arrived(run, good[0])
        for answer in answers:
            if answer is not good[0]:
                denied(answer)


@browsing("OAUTH-CB-26", sign_ins=1, needs=("slow",), last=True, seconds=_STATE_SECONDS + 180)
async def ten_minutes_later(run: Run, browser: Browser) -> None:
    grant = await agree(run, browser, profile((await somebody(run)).email))
    with run.verdict("OAUTH-CB-26"):
        await trio.sleep_until(trio.current_time() + _STATE_SECONDS + 60)
        denied(await browser.callback(first(run).id, grant.callback))
