"""The configured providers: those built in, with credentials, and those the configuration describes.

A profile is believed in one thing alone, who signed in; its email counts only if the provider vouches for
it, in so many words or because the operator says so (decision D-20).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from teamchat import Grant, IdentityProvider, OAuthFailed, OAuthProvider, Profile, SettingsError
from teamchat.model.text import plain
from teamchat_auth_oauth.failures import ProviderFailed

if TYPE_CHECKING:
    from teamchat.settings import CustomProvider, OAuthPreset, Settings

ANY_TENANT = "common"
_LIST = "providers"  # /auth/oauth/providers is the list of them


@dataclass(frozen=True)
class Configured:
    """A provider with this server's credentials there; its addresses and issuer are those to use."""

    provider: OAuthProvider
    client_id: str
    client_secret: str
    redirect_uri: str
    tenant: str | None = None
    identity: IdentityProvider | None = None
    """What reads its ID tokens and takes part in its sign-ins, if a capability brings it."""

    def __repr__(self) -> str:
        return f"Configured({self.provider.id!r})"

    @property
    def is_openid(self) -> bool:
        """Whether it is asked for an ID token (OpenID Connect Core, section 3.1.2.1)."""
        return "openid" in self.provider.scopes.split()

    @property
    def login_path(self) -> str:
        """The path that begins a sign-in, as the browser sees it: beside that of the redirect address."""
        path = urlsplit(self.redirect_uri).path
        wanted = f"/auth/oauth/{self.provider.id}"
        return path.removesuffix("/callback") if path.endswith(f"{wanted}/callback") else wanted

    @property
    def is_secure(self) -> bool:
        """Whether the browser comes back over https."""
        return urlsplit(self.redirect_uri).scheme == "https"


def configured(settings: Settings, preset: Callable[[str], OAuthProvider]) -> Sequence[Configured]:
    """Return every provider, the built-in ones first. `preset` finds the built-in provider of an id."""
    app_url, oauth = settings.auth.app_url, settings.oauth
    found = [_of_preset(_plain(preset(name)), keys, app_url) for name, keys in oauth.presets.items()]
    found += [_of_custom(keys, app_url) for keys in oauth.custom]
    if any(one.provider.id == _LIST for one in found):
        raise SettingsError(f'A provider in oauth.custom can\'t have the id "{_LIST}".')
    return found


def of_identity(identity: IdentityProvider, app_url: str) -> Configured | None:
    """Return a provider that a capability brings, or None while its addresses are not known."""
    provider = identity.found()
    if provider is None:
        return None
    redirect_uri = identity.redirect_uri or callback(app_url, identity.id)
    return Configured(provider, identity.client_id, identity.client_secret, redirect_uri, identity=identity)


def _plain(provider: OAuthProvider) -> OAuthProvider:
    """Return a plugin's provider with plain texts: they are shown in answers, and formatted."""
    given = {field.name: getattr(provider, field.name) for field in fields(provider)}
    texts: dict[str, Any] = {name: plain(value) for name, value in given.items() if isinstance(value, str)}
    return replace(provider, **texts)


def _of_preset(provider: OAuthProvider, keys: OAuthPreset, app_url: str) -> Configured:
    if keys.tenant is not None and "{tenant}" not in provider.authorization_url:
        raise SettingsError(
            f"oauth.presets.{provider.id}.tenant: {provider.name} has no tenants, so this keeps nobody out. "
            "Take it away."
        )
    # Elsewhere than at the addresses that are built in, the issuer is another too, and not known.
    is_elsewhere = (keys.authorization_url or keys.token_url) is not None
    provider = replace(
        provider,
        authorization_url=_at(keys.authorization_url or provider.authorization_url, keys.tenant),
        token_url=_at(keys.token_url or provider.token_url, keys.tenant),
        user_info_url=_at(keys.user_info_url or provider.user_info_url, keys.tenant),
        issuer=None if is_elsewhere else _issuer(provider.issuer, keys.tenant),
    )
    redirect_uri = keys.redirect_uri or callback(app_url, provider.id)
    return Configured(provider, keys.client_id, keys.client_secret, redirect_uri, keys.tenant)


def _of_custom(keys: CustomProvider, app_url: str) -> Configured:
    provider = OAuthProvider(
        id=keys.id,
        name=keys.name,
        authorization_url=keys.authorization_url,
        token_url=keys.token_url,
        user_info_url=keys.user_info_url,
        scopes=keys.scopes,
        profile=profile_reader(is_email_trusted=keys.is_email_trusted),
    )
    redirect_uri = keys.redirect_uri or callback(app_url, keys.id)
    return Configured(provider, keys.client_id, keys.client_secret, redirect_uri)


def callback(app_url: str, provider_id: str) -> str:
    """Return the address under ``auth.appUrl`` to which a provider sends the browser back."""
    parts = urlsplit(app_url)
    path = f"{parts.path.rstrip('/')}/auth/oauth/{provider_id}/callback"
    return parts._replace(path=path, query="", fragment="").geturl()


def profile_reader(*, is_email_trusted: bool = False) -> Callable[[Grant], Awaitable[Profile]]:
    """Return a function that reads a profile in OpenID Connect's form (Core, section 5.1)."""

    async def read(grant: Grant) -> Profile:
        claims = await grant.get(grant.provider.user_info_url)
        if not isinstance(claims, dict):
            raise ProviderFailed("a profile that is no object")
        subject = _subject(claims.get("sub", claims.get("id")))
        if grant.claims.get("sub", subject) != subject:  # Core, section 5.3.2
            raise ProviderFailed("a profile of somebody else")
        email = claims.get("email")
        if not isinstance(email, str) or not (is_email_trusted or _is_verified(claims)):
            raise OAuthFailed("email_not_verified")
        if not email.strip():
            raise ProviderFailed("a profile with a blank email")
        return Profile(subject, email)

    return read


def _is_verified(claims: Mapping[str, Any]) -> bool:
    return claims.get("email_verified", claims.get("verified_email")) is True


def _subject(value: object) -> str:
    """Return who it is: text that is not blank, or a whole number, which true and false are not."""
    if isinstance(value, str) and value.strip():
        return value
    if type(value) is int:
        return str(value)
    raise ProviderFailed("a profile without sub or id")


def _at(url: str, tenant: str | None) -> str:
    return url.replace("{tenant}", quote(tenant or ANY_TENANT, safe=""))


def _issuer(issuer: str | None, tenant: str | None) -> str | None:
    """Return the issuer; where every tenant is one of its own, it is known for a single tenant alone."""
    if issuer is not None and "{tenant}" in issuer and tenant is None:
        return None
    return issuer and _at(issuer, tenant)
