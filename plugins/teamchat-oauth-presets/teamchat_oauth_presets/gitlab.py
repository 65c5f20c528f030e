"""GitLab: OAuth 2.0 with a REST API; without the scope ``openid`` there is no ID token.

``email`` is the primary address, and ``confirmed_at`` the moment at which it was confirmed.  A new address
waits in ``unconfirmed_email`` and becomes ``email`` only when its owner has followed the link, so the two
fields together are GitLab's word for the address.  The subject is the account's number.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from teamchat import Grant, OAuthProvider, Profile
from teamchat_oauth_presets.answers import fields, not_verified, number, text


async def profile(grant: Grant) -> Profile:
    """Return who signed in. Raises `OAuthFailed` unless the primary email is confirmed."""
    account = fields(await grant.get(grant.provider.user_info_url))
    _moment(account.get("confirmed_at"))
    return Profile(subject=str(number(account.get("id"))), email=text(account.get("email")))


def _moment(value: Any) -> datetime:
    """Return a point in time: any other text, such as ``"false"``, is no confirmation."""
    try:
        return datetime.fromisoformat(text(value))
    except ValueError:
        raise not_verified() from None


GITLAB = OAuthProvider(
    id="gitlab",
    name="GitLab",
    authorization_url="https://gitlab.com/oauth/authorize",
    token_url="https://gitlab.com/oauth/token",  # noqa: S106  # an address
    user_info_url="https://gitlab.com/api/v4/user",
    scopes="read_user email",
    profile=profile,
)
