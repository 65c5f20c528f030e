"""Sign-in at providers that speak OpenID Connect: the capability `oidc`, version 1 (extension M).

The way from the button to the session is that of all providers (teamchat-auth-oauth).  This finds out where
a provider is, believes its tokens, makes its groups admins, and ends sessions when it says so.  `discovery`
keeps the providers found, `tokens` judges what they sign, `keys` has what that is judged by, `sessions`
knows which sessions were begun at which, and `endpoints` takes their word for the end of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from teamchat import Capability, Options, Parts, hookimpl
from teamchat_oidc import sessions
from teamchat_oidc.tables import MIGRATIONS

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat.settings import Settings


def is_configured(settings: Settings, _: Any) -> bool:
    """Whether there is a provider."""
    return bool(settings.oauth.oidc)


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    # joserfc takes 0.1 s to import, which a server without providers need not spend.
    from teamchat_oidc.discovery import Discovery
    from teamchat_oidc.endpoints import section_for
    from teamchat_oidc.provider import OpenIdProvider

    accounts = app.accounts
    found = [OpenIdProvider(keys, accounts) for keys in app.settings.oauth.oidc]
    return Parts(
        identity_providers=found,
        changes=sessions.Ends(),
        services=[Discovery(found)],
        routes=[section_for(app, found)],
        jobs=[partial(sessions.sweep, accounts)],
    )


OIDC = Capability(name="oidc", version=1, tables=MIGRATIONS, is_possible=is_configured, parts=parts)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [OIDC]
