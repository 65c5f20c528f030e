"""The area that the modules of this package add their checks to, and how its scenarios get a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps

from teamchat_conformance.checks.browser import SPENT, Browser, addresses_of, denied, told
from teamchat_conformance.checks.signing_in import inapplicable
from teamchat_conformance.expect import Answered
from teamchat_conformance.registry import Area
from teamchat_conformance.run import Run

area = Area("OAUTH", "Sign-in through other services")
area.required("OAUTH-PROV-06", "§2 Tokens", "No answer holds a secret of the provider's", "idp")
area.monitor("OAUTH-PROV-06")
area.required(
    "OAUTH-CB-27",
    "§7",
    "Every failure of the callback is a redirect with oauth_error, no other answer",
    "idp",
)

Story = Callable[[Run, Browser], Awaitable[None]]


def browsing(
    *ids: str, sign_ins: int, needs: Sequence[str] = (), last: bool = False, seconds: float = 180.0
) -> Callable[[Story], Story]:
    """Take up a scenario that begins so many sign-ins in a browser.

    Where no client address may begin so many, its checks are not applicable.
    """

    def take(story: Story) -> Story:
        @area.scenario(*ids, needs=("idp", *needs), last=last, seconds=seconds)
        @wraps(story)
        async def scenario(run: Run) -> None:
            browser = addresses_of(run).browser(sign_ins)
            if browser is None:
                inapplicable(run, SPENT, *(id for id in ids if id not in run.verdicts.findings))
            else:
                await story(run, browser)

        return story

    return take


def is_denied(run: Run, id: str, answer: Answered) -> None:
    """Decide a check by whether a sign-in failed, and OAUTH-CB-27 by whether its end is a redirect."""
    with run.verdict(id):
        denied(answer)
    with run.verdict("OAUTH-CB-27"):
        if "access_token" not in told(answer):
            denied(answer)
