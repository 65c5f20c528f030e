"""What the configuration makes of providers, built in or described."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from teamchat_auth_oauth.providers import Configured, configured

from teamchat.errors import SettingsError
from teamchat.interfaces import Grant, OAuthProvider, Profile
from teamchat.settings import AuthSettings, CustomProvider, OAuthPreset, OAuthSettings, Settings

URL = "https://id.example.org"


async def nobody(_: Grant) -> Profile:
    raise NotImplementedError


def built_in(name: str) -> OAuthProvider:
    return OAuthProvider(
        id=name,
        name=name.title(),
        authorization_url=f"{URL}/{{tenant}}/authorize",
        token_url=f"{URL}/{{tenant}}/token",
        user_info_url=f"{URL}/{{tenant}}/user",
        scopes="openid",
        profile=nobody,
        issuer=f"{URL}/{{tenant}}",
    )


def of_preset(**keys: Any) -> Configured:
    preset = OAuthPreset(client_id="me", client_secret="hidden", **keys)
    [found] = configured(Settings(oauth=OAuthSettings(presets={"acme": preset})), built_in)
    return found


def described(provider_id: str, **keys: Any) -> CustomProvider:
    urls = {name: f"{URL}/{name}" for name in ("authorization_url", "token_url", "user_info_url")}
    secrets = {"client_id": "me", "client_secret": "hidden"}
    return CustomProvider(id=provider_id, name="Acme", **urls | secrets | keys)


def test_nothing_is_configured_by_default() -> None:
    assert configured(Settings(), built_in) == []


def test_a_built_in_provider_needs_credentials_alone() -> None:
    found = of_preset()
    assert (found.client_id, found.client_secret, found.tenant) == ("me", "hidden", None)
    assert found.redirect_uri == "http://localhost:3000/auth/oauth/acme/callback"
    assert found.provider.authorization_url == f"{URL}/common/authorize"
    assert found.provider.token_url == f"{URL}/common/token"
    assert found.provider.user_info_url == f"{URL}/common/user"
    assert found.provider.issuer is None  # every tenant has its own
    assert found.is_openid
    assert not found.is_secure


def test_a_tenant_stands_in_every_address() -> None:
    found = of_preset(tenant="one two")
    assert found.tenant == "one two"
    assert found.provider.token_url == f"{URL}/one%20two/token"
    assert found.provider.issuer == f"{URL}/one%20two"


def test_a_tenant_that_would_keep_nobody_out_is_refused() -> None:
    preset = OAuthPreset(client_id="me", client_secret="hidden", tenant="one")
    settings = Settings(oauth=OAuthSettings(presets={"acme": preset}))
    with pytest.raises(SettingsError, match=r"oauth\.presets\.acme\.tenant: Acme has no tenants"):
        configured(settings, lambda name: replace(built_in(name), authorization_url=f"{URL}/authorize"))


def test_an_address_of_ones_own_comes_before_that_built_in_and_has_another_issuer() -> None:
    found = of_preset(
        tenant="one",
        authorization_url="https://own.test/a",
        token_url="https://own.test/{tenant}/t",
        user_info_url="https://own.test/u",
        redirect_uri="https://chat.test/back",
    )
    assert found.provider.authorization_url == "https://own.test/a"
    assert found.provider.token_url == "https://own.test/one/t"
    assert found.provider.user_info_url == "https://own.test/u"
    assert found.provider.issuer is None
    assert found.redirect_uri == "https://chat.test/back"
    assert found.is_secure
    assert found.login_path == "/auth/oauth/acme"


def test_a_described_provider_is_like_a_built_in_one() -> None:
    settings = Settings(
        auth=AuthSettings(app_url="https://chat.test/app/"),
        oauth=OAuthSettings(custom=[described("acme", scopes="email profile")]),
    )
    [found] = configured(settings, built_in)
    assert found.provider.id == "acme"
    assert found.provider.scopes == "email profile"
    assert found.provider.token_url == f"{URL}/token_url"
    assert found.redirect_uri == "https://chat.test/app/auth/oauth/acme/callback"
    assert found.login_path == "/app/auth/oauth/acme"
    assert not found.is_openid


def test_built_in_providers_come_first() -> None:
    preset = OAuthPreset(client_id="me", client_secret="hidden")
    settings = Settings(oauth=OAuthSettings(presets={"zeta": preset}, custom=[described("acme")]))
    assert [one.provider.id for one in configured(settings, built_in)] == ["zeta", "acme"]


def test_a_provider_cannot_stand_where_the_list_does() -> None:
    with pytest.raises(SettingsError, match="providers"):
        configured(Settings(oauth=OAuthSettings(custom=[described("providers")])), built_in)


def test_a_configured_provider_shows_no_secret() -> None:
    assert "hidden" not in repr(of_preset())
