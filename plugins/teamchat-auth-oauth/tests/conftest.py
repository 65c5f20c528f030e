"""A server with a provider to sign in at, and a browser that goes back and forth between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from teamchat_auth_oauth import TRAITS, is_configured
from teamchat_auth_oauth.endpoints import section_for
from teamchat_auth_oauth.sign_in import OAuth

from teamchat.accounts import Accounts
from teamchat.application import Application
from teamchat.chat import Chat
from teamchat.interfaces import NO_TRAITS, OAuthProvider, Storage
from teamchat.settings import (
    AuthSettings,
    CustomProvider,
    InitialUser,
    OAuthSettings,
    ServerSettings,
    Settings,
)
from teamchat.stream import Hub
from teamchat.testing import Provider, provider
from teamchat.testing.images import MemoryStore
from teamchat.web.app import App, create_app
from tests.accounts.conftest import SECRET, Clock
from tests.storages import open_storage
from tests.web.client import Answer, Client

APP_URL = "https://chat.example.org/app?from=sign-in"
ADMIN = "ada@example.org"


@dataclass
class Browser:
    """A browser: it keeps the cookies it is given, and comes from one address."""

    site: App
    ip: str = "192.0.2.7"
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, target: str, method: str = "GET") -> Answer:
        """Ask the server; `target` may be an absolute address."""
        parts = urlsplit(target)
        client = Client(self.site, peer=self.ip)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        path = parts.path.removeprefix("/app") + (f"?{parts.query}" if parts.query else "")
        answer = await client.call(method, path, headers=[("cookie", cookie)] if cookie else [])
        for line in answer.all("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    async def begin(self, provider_id: str = "acme") -> str:
        """Press the button, and return where the browser is sent."""
        answer = await self.get(f"/auth/oauth/{provider_id}")
        assert answer.status == 302, answer.body
        return answer.headers["location"]

    async def sign_in(self, idp: Provider, provider_id: str = "acme") -> dict[str, str]:
        """Go through a whole sign-in, and return what the application is told."""
        return told(await self.get(idp.approve(await self.begin(provider_id))))


@dataclass
class World:
    """A running application whose users may sign in at `idp`, and at a second provider."""

    app: Application
    oauth: OAuth
    site: App
    idp: Provider
    second: Provider
    clock: Clock

    def browser(self, ip: str = "192.0.2.7") -> Browser:
        return Browser(self.site, ip)

    async def sign_in(self) -> dict[str, str]:
        return await self.browser().sign_in(self.idp)

    async def me(self, tokens: dict[str, str]) -> dict[str, Any]:
        client = Client(self.site, tokens["access_token"])
        return dict((await client.ok("GET", "/auth/me"))["user"])

    async def fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        async with self.app.storage.read() as tx:
            return await tx.fetch(sql, *params)

    async def count(self, table: str) -> int:
        return int((await self.fetch(f"select count(*) from {table}"))[0][0])


def told(answer: Answer) -> dict[str, str]:
    """Return what a callback's redirect tells the application, and hold it to the address of that."""
    assert answer.status == 302, (answer.status, answer.body)
    [location] = answer.all("location")
    parts = urlsplit(location)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "chat.example.org", "/app")
    query = parse_qs(parts.query, strict_parsing=True)
    assert query.pop("from") == ["sign-in"]
    assert all(len(values) == 1 for values in query.values())
    may_be_told = {"earlier_access_ended"} if "oauth_error" not in query else set()
    ends = ({"oauth_error"}, {"second_factor"}, {"access_token", "refresh_token", "expires_in"})
    assert set(query) - may_be_told in ends
    return {name: values[0] for name, values in query.items()}


def query_of(location: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(location).query, keep_blank_values=True))


def custom(idp: Provider, provider_id: str = "acme", **keys: Any) -> CustomProvider:
    """Describe a provider, as ``oauth.custom`` does."""
    described = {
        "id": provider_id,
        "name": provider_id.title(),
        "client_id": idp.client_id,
        "client_secret": idp.client_secret,
        "authorization_url": idp.authorization_url,
        "token_url": idp.token_url,
        "user_info_url": idp.user_info_url,
    }
    return CustomProvider(**described | keys)


def no_preset(name: str) -> OAuthProvider:
    raise AssertionError(f"nobody asked for {name}")


def build(
    storage: Storage,
    idp: Provider,
    second: Provider,
    clock: Clock,
    *,
    auth: dict[str, Any] | None = None,
    oauth: dict[str, Any] | None = None,
    server: dict[str, Any] | None = None,
    patience: float = 10.0,
) -> World:
    """Put an application together, with these keys over those of the tests."""
    keys = {"auth_mode": "magic-link", "app_url": APP_URL, "max_active_sessions": 50} | (auth or {})
    settings = Settings(
        auth=AuthSettings(**keys),
        oauth=OAuthSettings(**{"custom": [custom(idp), custom(second, "beta")]} | (oauth or {})),
        server=ServerSettings(**server or {}),
    )
    accounts = Accounts.build(storage, settings.auth, SECRET, clock=clock)
    app = Application(
        settings=settings,
        storage=storage,
        accounts=accounts,
        chat=Chat.build(storage, MemoryStore(), 16_000),
        hub=Hub(storage, settings.events),
        sign_in=TRAITS if is_configured(settings) else NO_TRAITS,
    )
    oauth = OAuth.build(settings, no_preset, accounts, patience=patience)
    sections = [section_for(oauth)] if is_configured(settings) else []
    return World(app, oauth, create_app(app, sections), idp, second, clock)


@pytest.fixture
async def idp() -> AsyncIterator[Provider]:
    async with provider() as running:
        yield running


@pytest.fixture
async def second() -> AsyncIterator[Provider]:
    async with provider(client_id="the-client-at-beta") as running:
        yield running


@pytest.fixture
async def make(tmp_path: Path, idp: Provider, second: Provider) -> AsyncIterator[Any]:
    """Make worlds on one database; the first has an admin."""
    clock = Clock()
    async with open_storage(tmp_path) as storage:

        async def made(*, password: str | None = None, **changed: Any) -> World:
            world = build(storage, idp, second, clock, **changed)
            initial = InitialUser(user_name="Ada", email=ADMIN, password=password)
            await world.app.accounts.ensure_initial_user(initial)
            return world

        yield made


@pytest.fixture
async def world(make: Any) -> World:
    """A server at which everybody may sign in."""
    return await make(auth={"is_invite_required": False})
