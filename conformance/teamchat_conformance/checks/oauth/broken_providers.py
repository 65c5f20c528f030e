"""OAUTH-CB-12, -14 to -16: a provider that fails ends the sign-in at the application, and makes nobody."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.browser import Browser, agree, come_in, first
from teamchat_conformance.checks.oauth._area import area, browsing, is_denied
from teamchat_conformance.checks.signing_in import listed, somebody
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.provider import (
    DROPS,
    FAILS,
    HANGS,
    INVALID_GRANT,
    NO_TOKEN,
    NOT_JSON,
    UNAUTHORIZED,
    profile,
)
from teamchat_conformance.fixtures.provider_http import Reply

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_PATIENCE_SECONDS = 60.0

area.required("OAUTH-CB-12", "§4 OAuth", "A code that the provider does not take is denied", "idp")
area.required("OAUTH-CB-14", "§4 OAuth", "A token URL that fails, or answers no token, denies", "idp")
area.required("OAUTH-CB-15", "§4 OAuth", "A user info URL that fails, or tells no email, denies", "idp")
area.recommended(
    "OAUTH-CB-16",
    "§4 OAuth",
    "A provider that hangs denies within a minute and holds nobody up",
    "idp",
    "slow",
)


@browsing("OAUTH-CB-12", "OAUTH-CB-27", sign_ins=1)
async def no_such_code(run: Run, browser: Browser) -> None:
    person = await somebody(run)
    is_denied(run, "OAUTH-CB-12", await come_in(run, browser, profile(person.email), token=INVALID_GRANT))


@browsing("OAUTH-CB-14", "OAUTH-CB-27", sign_ins=1)
async def the_token_url_fails(run: Run, browser: Browser) -> None:
    await _without_a_token(run, browser, FAILS)


@browsing("OAUTH-CB-15", "OAUTH-CB-27", sign_ins=1)
async def the_user_info_url_fails(run: Run, browser: Browser) -> None:
    await _without_a_profile(run, browser, FAILS)


@browsing("OAUTH-CB-14", "OAUTH-CB-27", sign_ins=3)
async def the_token_url_makes_no_sense(run: Run, browser: Browser) -> None:
    await _without_a_token(run, browser, NOT_JSON, NO_TOKEN, DROPS)


@browsing("OAUTH-CB-15", "OAUTH-CB-27", sign_ins=3)
async def the_user_info_url_makes_no_sense(run: Run, browser: Browser) -> None:
    nobody = Reply(200, json.dumps(profile(None, name=run.text())).encode())
    await _without_a_profile(run, browser, UNAUTHORIZED, NOT_JSON, nobody)


async def _without_a_token(run: Run, browser: Browser, *replies: Reply) -> None:
    person = await somebody(run)
    for reply in replies:
        is_denied(run, "OAUTH-CB-14", await come_in(run, browser, profile(person.email), token=reply))


async def _without_a_profile(run: Run, browser: Browser, *replies: Reply) -> None:
    email = run.email()
    for reply in replies:
        is_denied(run, "OAUTH-CB-15", await come_in(run, browser, profile(email), userinfo=reply))
    with run.verdict("OAUTH-CB-15"):
        require(not await listed(run, email), "the user is there, though they were denied")


@browsing("OAUTH-CB-16", "OAUTH-CB-27", sign_ins=1, needs=("slow",))
async def the_token_url_hangs(run: Run, browser: Browser) -> None:
    grant = await agree(run, browser, profile((await somebody(run)).email), token=HANGS)
    began, slowest = time.monotonic(), 0.0
    is_over = False

    async def ask_meanwhile() -> None:
        nonlocal slowest
        while not is_over:
            asked = time.monotonic()
            (await run.n.get("/health")).expect(200)
            slowest = max(slowest, time.monotonic() - asked)
            await trio.sleep(0.2)

    with run.verdict("OAUTH-CB-16"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_meanwhile)
            answer = await browser.callback(first(run).id, grant.callback, seconds=_PATIENCE_SECONDS + 10)
            is_over = True
        took = time.monotonic() - began
        require(took < run.wait(_PATIENCE_SECONDS), f"it was denied after {took:.0f} s")
        require(slowest < run.wait(2), f"meanwhile another request took {slowest:.1f} s")
    is_denied(run, "OAUTH-CB-16", answer)
