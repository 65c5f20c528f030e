"""Microsoft: OpenID Connect over many directories, of which anybody may open one.

The administrator of a directory can write any address into its accounts, and the ID token repeats it; an
application that believes it signs strangers in as whom they name ("nOAuth").  So an email counts in three
cases only:

- ``oauth.presets.microsoft.tenant`` pins one directory and the account is in it: what that directory says;
- the account is a personal one, whose address Microsoft itself has verified;
- ``xms_edov`` is true: Microsoft has found that the directory owns the domain of the email.

The subject is the directory with the account's number in it, ``tid:oid``, which Microsoft neither changes nor
gives again.  ``sub`` is as stable but differs for each application: registering teamchat anew, as when a
secret's registration is lost, would cut everybody off from the identity they have here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from teamchat import Grant, OAuthProvider, Profile
from teamchat_oauth_presets.answers import fields, require, text

AUTHORITY = "https://login.microsoftonline.com"
PERSONAL = "9188040d-6c67-4c5b-b112-36a304b66dad"  # the `tid` of every personal account


async def profile(grant: Grant) -> Profile:
    """Return who signed in. Raises `OAuthFailed` unless Microsoft or the pinned directory vouches."""
    tid, oid = text(grant.claims.get("tid")), text(grant.claims.get("oid"))
    _check_issuer(grant, tid)
    if grant.tenant is not None:
        require(tid == grant.tenant.lower())
    return Profile(subject=f"{tid}:{oid}", email=await _email(grant, tid, oid))


def _check_issuer(grant: Grant, tid: str) -> None:
    """Hold ``iss`` to the directory (OpenID Connect Core, section 3.1.3.7), at Microsoft's own addresses."""
    if grant.provider.token_url.startswith(f"{AUTHORITY}/"):
        require(grant.claims.get("iss") == f"{AUTHORITY}/{tid}/v2.0")


async def _email(grant: Grant, tid: str, oid: str) -> str:
    if tid != PERSONAL and grant.tenant is not None:
        return _of_directory(fields(await grant.get(grant.provider.user_info_url)), oid)
    require(tid == PERSONAL or grant.claims.get("xms_edov") is True)
    return text(grant.claims.get("email"))


def _of_directory(account: Mapping[str, Any], oid: str) -> str:
    """Return the email of an account in the directory; without a mailbox, the name it signs in with."""
    require(account.get("id") == oid)
    if account.get("mail") is not None:
        return text(account["mail"])
    name = text(account.get("userPrincipalName"))
    require("#EXT#" not in name)  # a guest's: made up from an address elsewhere, and no address itself
    return name


MICROSOFT = OAuthProvider(
    id="microsoft",
    name="Microsoft",
    authorization_url=f"{AUTHORITY}/{{tenant}}/oauth2/v2.0/authorize",
    token_url=f"{AUTHORITY}/{{tenant}}/oauth2/v2.0/token",
    user_info_url="https://graph.microsoft.com/v1.0/me",
    scopes="openid email profile User.Read",
    profile=profile,
)
