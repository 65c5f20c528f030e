"""Sign-in at other providers: OAuth 2.0 with PKCE (interface, part 4 and part 5 rules 13 to 15; D-20).

It is open beside the mode that is chosen, wherever a provider is configured.  `endpoints` are its face,
`sign_in` the way from the button to the session, `providers` the configuration made whole, `states` what is
kept of a sign-in under way, `client` the talk with a provider, `identities` who is who.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from teamchat import AuthBackend, AuthMode, NoOptions, Service, SettingsError, SignInTraits, hookimpl
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_auth_oauth import states

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat.settings import Settings
    from teamchat.web import Section

SWEEP_SECONDS = 3600
TRAITS = SignInTraits(leads_to_providers=True)

_log = get_logger(__name__)


class OAuthMode:
    """`teamchat.AuthMode` for the providers of ``[oauth]``."""

    def check(self, settings: Settings) -> None:
        """Refuse to be the only way: nobody could come in when a provider is down."""
        if settings.auth.auth_mode == "oauth":
            raise SettingsError(
                "auth.authMode is 'oauth', which stands beside another way to sign in. Choose that one, and "
                "configure providers in [oauth]."
            )

    def routes(self, app: Teamchat) -> Section:
        """Return the endpoints. Raises `SettingsError` for a provider that can't be what is configured."""
        # Talking with providers takes libraries that a server without any need not load.
        from teamchat_auth_oauth.endpoints import section_for
        from teamchat_auth_oauth.sign_in import OAuth

        return section_for(
            OAuth.build(app.settings, app.oauth_provider, app.accounts, app.identity_providers)
        )


class Sweeper:
    """Removes states and counters whose time is over, every hour."""

    name = "oauth sweeper"

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        from teamchat_auth_oauth.sign_in import sweep

        task_status.started()
        outage = Outage(_log, "a housekeeping job failed and will be tried again", logging.ERROR)
        while True:
            with outage.noted(Exception):
                await sweep(self._app.accounts, self._app.settings.oauth.rate_limit)
            await trio.sleep(SWEEP_SECONDS)


def is_configured(settings: Settings) -> bool:
    """Whether there is a provider."""
    return bool(settings.oauth.presets or settings.oauth.custom or settings.oauth.oidc)


@asynccontextmanager
async def open_oauth(options: NoOptions) -> AsyncIterator[AuthMode]:  # noqa: ARG001  # it has none
    """Open the way; there is nothing to close."""
    yield OAuthMode()


@hookimpl
def auth_modes() -> Sequence[AuthBackend]:
    """Offer ``oauth``, which is open beside the chosen mode."""
    return [
        AuthBackend(
            "oauth", open_oauth, traits=TRAITS, is_beside=is_configured, secret_changed_in=states.forget_in
        )
    ]


@hookimpl
def services(app: Teamchat) -> Sequence[Service]:
    """Offer the sweeper, where there is something to sweep."""
    return [Sweeper(app)] if is_configured(app.settings) else []
