"""Providers in ``oauth.custom`` are held to what built-in ones are."""

from __future__ import annotations

from teamchat_auth_oauth.providers import configured

from teamchat import OAuthProvider
from teamchat.settings import CustomProvider, OAuthSettings, Settings
from teamchat.testing import OAuthProviderContract, Said

KEYS = CustomProvider(
    id="acme",
    name="Acme",
    authorization_url="https://id.example.org/authorize",
    token_url="https://id.example.org/token",
    user_info_url="https://id.example.org/userinfo",
    client_id="the-client",
    client_secret="the client secret of the tests",
)


class TestCustom(OAuthProviderContract):
    def provider(self) -> OAuthProvider:
        def preset(name: str) -> OAuthProvider:
            raise AssertionError(f"nobody asked for the preset {name}")

        [custom] = configured(Settings(oauth=OAuthSettings(custom=[KEYS])), preset)
        return custom.provider

    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        account = {"sub": subject, "email": email, "email_verified": vouched}
        return Said(self.provider(), answers={KEYS.user_info_url: account})


class TestCustomWithAnIdToken(TestCustom):
    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        said = super().said(subject, email, vouched=vouched)
        return Said(said.provider, answers=said.answers, claims={"sub": subject})
