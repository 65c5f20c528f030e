"""Sign-in at providers is held to what every way to sign in and every service must do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from teamchat_auth_oauth import TRAITS, auth_modes, services
from teamchat_auth_oauth.client import Client

from teamchat import AuthMode, NoOptions, Profile, Service, SignInTraits, Storage
from teamchat.application import Application
from teamchat.settings import AuthSettings, CustomProvider, OAuthSettings, Settings
from teamchat.testing import AuthModeContract, ServiceContract
from tests.storages import open_storage

ACME = CustomProvider(
    id="acme",
    name="Acme",
    authorization_url="https://id.example.org/authorize",
    token_url="https://id.example.org/token",
    user_info_url="https://id.example.org/userinfo",
    client_id="id",
    client_secret="a secret",
)
SETTINGS = Settings(auth=AuthSettings(auth_mode="dev"), oauth=OAuthSettings(custom=[ACME]))


def query(address: str) -> dict[str, str]:
    return {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}


class TestOAuthMode(AuthModeContract):
    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        return open_storage(directory)

    def settings(self) -> Settings:
        return SETTINGS

    def traits(self) -> SignInTraits:
        return TRAITS

    @asynccontextmanager
    async def open_mode(self) -> AsyncIterator[AuthMode]:
        """Open it, with a provider that vouches for the first admin."""

        async def vouching(*_: Any) -> Profile:
            return Profile("1", SETTINGS.chat.initial_user.email)

        [backend] = auth_modes()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Client, "profile", vouching)
            async with backend.open(NoOptions()) as mode:
                yield mode

    async def sign_in(self, app: Application, client: Any) -> str:
        begun = await client.get("/auth/oauth/acme")
        state = query(begun.headers["Location"])["state"]
        ended = await client.get(f"/auth/oauth/acme/callback?state={state}&code=x")
        return query(ended.headers["Location"])["access_token"]


class TestSweeper(ServiceContract):
    def settings(self) -> Settings:
        return SETTINGS

    def make_service(self, app: Application) -> Service:
        [service] = services(app)
        return service
