"""What the plugin offers: four providers, each with the addresses and scopes that it is known by."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from teamchat_oauth_presets import GITHUB, GITLAB, GOOGLE, MICROSOFT, oauth_providers

from teamchat import OAuthProvider
from teamchat.plugins import Plugins

PROVIDERS = [GOOGLE, MICROSOFT, GITHUB, GITLAB]


def ids(provider: OAuthProvider) -> str:
    return provider.id


def test_the_four_presets_are_offered_with_exactly_the_scopes_of_rule_15() -> None:
    assert [(offer.id, offer.scopes) for offer in oauth_providers()] == [
        ("google", "openid email profile"),
        ("microsoft", "openid email profile User.Read"),
        ("github", "user:email read:user"),
        ("gitlab", "read_user email"),
    ]


def test_the_installed_plugin_is_found_and_offers_them() -> None:
    plugins = Plugins.load()
    assert [plugins.oauth_provider(provider.id) for provider in PROVIDERS] == PROVIDERS


def test_each_has_the_name_that_its_sign_in_button_shows() -> None:
    assert [provider.name for provider in PROVIDERS] == ["Google", "Microsoft", "GitHub", "GitLab"]


@pytest.mark.parametrize("provider", PROVIDERS, ids=ids)
def test_every_address_is_https(provider: OAuthProvider) -> None:
    for url in (provider.authorization_url, provider.token_url, provider.user_info_url):
        assert urlsplit(url).scheme == "https"


def test_only_microsoft_has_a_place_for_a_tenant_and_has_it_where_the_browser_and_the_code_go() -> None:
    with_tenant = [provider.id for provider in PROVIDERS if "{tenant}" in provider.authorization_url]
    assert with_tenant == ["microsoft"]
    assert "{tenant}" in MICROSOFT.token_url
    assert "{" not in MICROSOFT.user_info_url


def test_only_google_has_one_issuer_for_all() -> None:
    assert [provider.issuer for provider in PROVIDERS] == ["https://accounts.google.com", None, None, None]
