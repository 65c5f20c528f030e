"""GitHub: OAuth 2.0 with a REST API, and no ID token.

The email is the entry of ``/user/emails`` that is primary and verified.  The one that ``/user`` shows is
chosen for the public page, may be null, and is not looked at.  The subject is the account's number: its name
can be given up and taken by somebody else.
"""

from __future__ import annotations

from typing import Any

from teamchat import Grant, OAuthProvider, Profile
from teamchat_oauth_presets.answers import fields, not_verified, number, text


async def profile(grant: Grant) -> Profile:
    """Return who signed in. Raises `OAuthFailed` unless GitHub has verified the primary email."""
    account = fields(await grant.get(grant.provider.user_info_url))
    subject = number(account.get("id"))
    # Pages hold 30 entries unless more are asked for, and nothing says on which the primary one stands.
    emails = await grant.get(grant.provider.user_info_url + "/emails?per_page=100")
    return Profile(subject=str(subject), email=_primary(emails))


def _primary(emails: Any) -> str:
    if not isinstance(emails, list):
        raise not_verified()
    for entry in map(fields, emails):
        if entry.get("primary") is True and entry.get("verified") is True:
            return text(entry.get("email"))
    raise not_verified()


GITHUB = OAuthProvider(
    id="github",
    name="GitHub",
    authorization_url="https://github.com/login/oauth/authorize",
    token_url="https://github.com/login/oauth/access_token",  # noqa: S106  # an address
    user_info_url="https://api.github.com/user",
    scopes="user:email read:user",
    profile=profile,
)
