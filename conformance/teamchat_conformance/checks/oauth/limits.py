"""OAUTH-RATE: from one address so many sign-ins begin, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.browser import Browser, addresses_of, denied, first, location
from teamchat_conformance.checks.oauth._area import area
from teamchat_conformance.checks.signing_in import TOO_MANY, garbage, inapplicable
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

_MOST_TRIED = 100
_NO_OTHER = "needs another client address that is fresh"

area.required("OAUTH-RATE-01", "§8", "One start beyond the limit is refused with 429", "idp")
area.required("OAUTH-RATE-02", "§8", "Up to the limit each start is a 302", "idp")
area.required("OAUTH-RATE-03", "§8", "Another address begins all the same", "idp", "ips")
area.required(
    "OAUTH-RATE-04", "§4 OAuth", "A callback beyond the limit is a redirect with oauth_error", "idp", "ips"
)
area.recommended("OAUTH-RATE-05", "D-06", "The refusal says in Retry-After when to come back", "idp")
area.recorded("OAUTH-RATE-06", "§8", "Whether callbacks count with the starts", "idp", "ips")
area.recorded("OAUTH-RATE-07", "§8", "Whether a start works once the window is over", "idp", "slow")


@area.scenario(
    "OAUTH-RATE-01", "OAUTH-RATE-02", "OAUTH-RATE-03", "OAUTH-RATE-04", "OAUTH-RATE-05", "OAUTH-RATE-06",
    "OAUTH-RATE-07", needs=("idp",), last=True, seconds=1_200,
)  # fmt: skip
async def up_to_the_limit(run: Run) -> None:
    limit = run.instance.oauth.rate_limit
    everything = tuple(f"OAUTH-RATE-0{number}" for number in range(1, 8))
    if limit > _MOST_TRIED:
        inapplicable(run, "the limit is set too high to be reached", *everything)
        return
    fresh = addresses_of(run).browser(limit, is_fresh=True)
    browser = fresh or Browser(run, run.client("a browser"))
    starts = await _starts(run, browser, limit)
    refused = starts[-1]
    if fresh is None:
        inapplicable(run, _NO_OTHER, "OAUTH-RATE-02")
    else:
        with run.verdict("OAUTH-RATE-02"):
            require(
                len(starts) > limit, f"of {limit} starts that are allowed the {len(starts)}th was refused"
            )
            for answer in starts[:limit]:
                location(answer)
    with run.verdict("OAUTH-RATE-01"):
        refused.error(TOO_MANY)
    if refused.status == TOO_MANY:
        with run.verdict("OAUTH-RATE-05"):
            seconds = refused.header("retry-after") or ""
            require(seconds.isdigit() and int(seconds) > 0, f"Retry-After is {seconds!r}")
    else:
        inapplicable(run, "no start was refused", "OAUTH-RATE-05")
    if run.has("ips"):
        await _from_elsewhere(run, browser, limit)
    if run.has("slow"):
        await trio.sleep_until(trio.current_time() + run.instance.oauth.rate_window_seconds + 5)
        run.record("OAUTH-RATE-07", (await browser.start(first(run).id)).status)


async def _starts(run: Run, browser: Browser, limit: int) -> list[Answered]:
    """Begin sign-ins until one is not a redirect, one more than the limit at most."""
    starts: list[Answered] = []
    while len(starts) <= limit and (not starts or starts[-1].status == 302):
        starts.append(await browser.start(first(run).id))
    return starts


async def _from_elsewhere(run: Run, browser: Browser, limit: int) -> None:
    with run.verdict("OAUTH-RATE-04"):
        for _ in range(limit + 1):
            denied(await browser.callback(first(run).id, {"code": "none", "state": garbage()}))
    other = addresses_of(run).browser(limit, is_fresh=True)
    if other is None:
        inapplicable(run, _NO_OTHER, "OAUTH-RATE-03", "OAUTH-RATE-06")
        return
    with run.verdict("OAUTH-RATE-03"):
        location(await other.start(first(run).id))
    for _ in range(limit):
        await other.callback(first(run).id, {"code": "none", "state": garbage()})
    run.record("OAUTH-RATE-06", {"a start after callbacks": (await other.start(first(run).id)).status})
