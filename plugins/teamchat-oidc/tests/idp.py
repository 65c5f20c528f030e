"""A provider that speaks OpenID Connect, whose tokens a test makes as it likes, and a server at it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwk, jwt
from teamchat_oidc import OIDC
from teamchat_oidc.provider import OpenIdProvider

from teamchat import Capability, Storage
from teamchat.application import Application
from teamchat.plugins import Plugins
from teamchat.settings import (
    AuthSettings,
    ChatSettings,
    InitialUser,
    OAuthSettings,
    OidcProvider,
    RateLimit,
    Settings,
)
from teamchat.testing import CapabilityContract, Provider, Reply, provider
from teamchat.web.app import App, create_app
from tests.storages import open_storage
from tests.web.client import Answer, Client

APP_URL = "https://chat.example.org/app"
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
CLIENT, SECRET = "the-client", "the client's secret"
FORM = ("content-type", "application/x-www-form-urlencoded")
KEYS = {
    "RS256": jwk.RSAKey.generate_key(2048, {"kid": "rsa"}),
    "ES256": jwk.ECKey.generate_key("P-256", {"kid": "ec"}),
}
OTHER = jwk.RSAKey.generate_key(2048, {"kid": "other"})


@dataclass
class Idp:
    """The provider. `keys` are those that it publishes; `metadata` goes over what it says of itself."""

    server: Provider
    keys: list[Any] = field(default_factory=lambda: [*KEYS.values()])
    metadata: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)

    @property
    def issuer(self) -> str:
        return self.server.base

    def publish(self) -> None:
        """Put its documents where they are asked for."""
        base = self.server.base
        said = {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "jwks_uri": f"{base}/jwks",
            "userinfo_endpoint": f"{base}/userinfo",
            "end_session_endpoint": f"{base}/end?x=1",
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
        } | self.metadata
        keys = [key if isinstance(key, dict) else key.as_dict(private=False) for key in self.keys]
        self.answers("/.well-known/openid-configuration", said)
        self.answers("/jwks", {"keys": keys})

    def answers(self, path: str, document: Any, status: int = 200) -> None:
        self.server.instead[path] = Reply(status, json.dumps(document).encode())

    def id_token(
        self, nonce: str, *, key: Any = None, header: dict[str, Any] | None = None, **over: Any
    ) -> str:
        """Sign an ID token; a claim of None is left out."""
        now = int(time.time())
        claims = (
            {
                "iss": self.issuer,
                "aud": CLIENT,
                "sub": "248289761001",
                "iat": now,
                "exp": now + 300,
                "nonce": nonce,
                "email": "jane@example.org",
                "email_verified": True,
                "sid": "session-1",
            }
            | self.claims
            | over
        )
        return signed({n: v for n, v in claims.items() if v is not None}, key, header)

    def logout_token(self, *, key: Any = None, header: dict[str, Any] | None = None, **over: Any) -> str:
        """Sign a logout token."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "248289761001",
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_hex(8),
            "events": {LOGOUT: {}},
        } | over
        return signed({n: v for n, v in claims.items() if v is not None}, key, header)


def signed(claims: dict[str, Any], key: Any = None, header: dict[str, Any] | None = None) -> str:
    key = key or KEYS["RS256"]
    algorithm = {"RSA": "RS256", "EC": "ES256", "oct": "HS256", "OKP": "Ed25519"}[key.key_type]
    head = {"alg": algorithm, "kid": key.kid} | (header or {})
    head = {name: value for name, value in head.items() if value is not None}
    return str(jwt.encode(head, claims, key, algorithms=[head["alg"]]))


@dataclass
class World:
    """A server whose users sign in at the provider."""

    app: Application
    site: App
    idp: Idp
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def found(self) -> Sequence[OpenIdProvider]:
        return self.app.identity_providers  # type: ignore[return-value]

    async def find(self) -> None:
        """Ask the providers for their addresses."""
        for one in self.found:
            await one.find()

    async def get(self, target: str) -> Answer:
        """Ask as a browser, which keeps its cookies."""
        parts = urlsplit(target)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        path = parts.path.removeprefix("/app") + (f"?{parts.query}" if parts.query else "")
        answer = await Client(self.site).call("GET", path, headers=[("cookie", cookie)] if cookie else [])
        for line in answer.all("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    async def begin(self, provider_id: str = "company") -> dict[str, str]:
        """Press the button, and return what the provider is asked."""
        answer = await self.get(f"/auth/oauth/{provider_id}")
        assert answer.status == 302, answer.body
        return dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    async def come_back(
        self, asked: dict[str, str], token: Any, provider_id: str = "company", **query: str
    ) -> dict[str, str]:
        """Come back with a code, for which the provider gives this ID token."""
        given = {"access_token": "an-access-token", "token_type": "Bearer"}
        self.idp.answers("/token", given if token is None else given | {"id_token": token})
        came = {"state": asked["state"], "code": "a-code"} | query
        return told(await self.get(f"/auth/oauth/{provider_id}/callback?{urlencode(came)}"))

    async def sign_in(self, **claims: Any) -> dict[str, str]:
        """Go through a whole sign-in, and return what the application is told."""
        asked = await self.begin()
        return await self.come_back(asked, self.idp.id_token(asked["nonce"], **claims))

    async def log_out(self, token: str, provider_id: str = "company") -> Answer:
        """Have the provider say that a session of its has ended."""
        raw = urlencode({"logout_token": token}).encode()
        path = f"/auth/oauth/{provider_id}/backchannel-logout"
        return await Client(self.site).call("POST", path, raw=raw, headers=[FORM])

    def client(self, tokens: dict[str, str]) -> Client:
        return Client(self.site, tokens["access_token"])

    async def is_in(self, tokens: dict[str, str]) -> bool:
        return (await self.client(tokens).call("GET", "/auth/me")).status == 200


def told(answer: Answer) -> dict[str, str]:
    """Return what a callback's redirect tells the application."""
    assert answer.status == 302, (answer.status, answer.body)
    location = answer.headers["location"]
    assert location.startswith(f"{APP_URL}?")
    return {name: value for name, [value] in parse_qs(urlsplit(location).query).items()}


@asynccontextmanager
async def opened(tmp_path: Path, *, invites: bool = False, **keys: Any) -> AsyncIterator[World]:
    """Open a server at a provider; `keys` go over those of ``oauth.oidc``."""
    async with provider() as server, AsyncExitStack() as stack:
        idp = Idp(server)
        idp.publish()

        class Contract(CapabilityContract):
            def capability(self) -> Capability:
                return OIDC

            def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
                directory.mkdir(parents=True, exist_ok=True)
                return open_storage(directory)

            def settings(self) -> Settings:
                described = {
                    "id": "company",
                    "name": "Work",
                    "issuer": idp.issuer,
                    "client_id": CLIENT,
                    "client_secret": SECRET,
                } | keys
                second = OidcProvider(**described | {"id": "second", "name": "Second"})
                auth = AuthSettings(
                    auth_mode="magic-link",
                    app_url=APP_URL,
                    is_invite_required=invites,
                    max_active_sessions=50,
                )
                chat = ChatSettings(initial_user=InitialUser("Ada", "ada@example.org"))
                oauth = OAuthSettings(
                    oidc=[OidcProvider(**described), second], rate_limit=RateLimit(attempts=1000)
                )
                return Settings(auth=auth, chat=chat, oauth=oauth)

        app = await stack.enter_async_context(Contract().application(tmp_path))
        mode = await stack.enter_async_context(Plugins.load().auth_mode("oauth").open(None))
        site = create_app(app, [mode.routes(app), *app.capabilities.routes])
        yield World(app, site, idp)
