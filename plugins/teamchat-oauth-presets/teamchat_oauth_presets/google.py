"""Google: OpenID Connect, with ``email_verified`` in the ID token and in the profile.

Both are asked and must tell of the same account and the same verified email.  The subject is ``sub``, which
Google never reuses; the email of an account can change.
"""

from __future__ import annotations

from teamchat import Grant, OAuthProvider, Profile
from teamchat_oauth_presets.answers import fields, require, text


async def profile(grant: Grant) -> Profile:
    """Return who signed in. Raises `OAuthFailed` unless Google says that the email is verified."""
    said = fields(await grant.get(grant.provider.user_info_url))
    found = Profile(subject=text(said.get("sub")), email=text(said.get("email")))
    for source in (said, grant.claims):
        require(source.get("email_verified") is True)
        require(source.get("sub") == found.subject)
        require(source.get("email") == found.email)
    return found


GOOGLE = OAuthProvider(
    id="google",
    name="Google",
    authorization_url="https://accounts.google.com/o/oauth2/v2/auth",
    token_url="https://oauth2.googleapis.com/token",  # noqa: S106  # an address
    user_info_url="https://openidconnect.googleapis.com/v1/userinfo",
    scopes="openid email profile",
    profile=profile,
    issuer="https://accounts.google.com",
)
