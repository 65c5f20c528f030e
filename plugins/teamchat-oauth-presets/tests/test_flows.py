"""Each preset through a real server, against a provider that answers in that provider's own shape."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from teamchat.testing import Server
from teamchat.testing.provider import Provider, Reply, provider
from tests.harness import running

APP_URL = "https://chat.example.org"
TENANT = "aaaabbbb-0000-cccc-1111-dddd2222eeee"
OID = "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"
EMAIL = "grace@example.org"


@dataclass
class Shape:
    """How one provider answers: by path, and in its ID token if it has one."""

    id: str
    scopes: str
    user_info: str

    def say(self, idp: Provider, email: str = EMAIL, *, is_verified: bool = True) -> None:
        """Let the provider tell of an account with this email, verified or not."""
        raise NotImplementedError

    def settings(self, idp: Provider) -> dict[str, Any]:
        return {
            "clientId": idp.client_id,
            "clientSecret": idp.client_secret,
            "authorizationUrl": idp.authorization_url,
            "tokenUrl": idp.token_url,
            "userInfoUrl": idp.base + self.user_info,
        }


class Google(Shape):
    def say(self, idp: Provider, email: str = EMAIL, *, is_verified: bool = True) -> None:
        account = {"sub": "10769150350006150715113082367", "email": email, "email_verified": is_verified}
        idp.pages = {self.user_info: account | {"name": "Grace Hopper", "picture": "https://example.org/p"}}
        idp.claims = account | {"azp": idp.client_id}


class Microsoft(Shape):
    """With a pinned directory. Unverified is an account of another one, which says the same email."""

    def say(self, idp: Provider, email: str = EMAIL, *, is_verified: bool = True) -> None:
        names = {"mail": email, "userPrincipalName": "grace.hopper@example.onmicrosoft.com"}
        idp.pages = {self.user_info: {"id": OID, "displayName": "Grace Hopper"} | names}
        tid = TENANT if is_verified else TENANT[::-1]
        iss = f"https://login.microsoftonline.com/{tid}/v2.0"
        idp.claims = {"sub": "pairwise", "oid": OID, "tid": tid, "email": email, "ver": "2.0", "iss": iss}

    def settings(self, idp: Provider) -> dict[str, Any]:
        return super().settings(idp) | {"tenant": TENANT}


class GitHub(Shape):
    def say(self, idp: Provider, email: str = EMAIL, *, is_verified: bool = True) -> None:
        primary = {"email": email, "primary": True, "verified": is_verified, "visibility": "private"}
        second = {"email": "second@example.org", "primary": False, "verified": True, "visibility": None}
        account = {"login": "grace", "id": 583231, "type": "User", "name": None, "email": None}
        idp.pages = {self.user_info: account, f"{self.user_info}/emails": [second, primary]}


class GitLab(Shape):
    def say(self, idp: Provider, email: str = EMAIL, *, is_verified: bool = True) -> None:
        moment = "2012-05-23T09:05:22.000Z" if is_verified else None
        account = {"id": 42, "username": "grace", "state": "active", "email": email, "confirmed_at": moment}
        idp.pages = {self.user_info: account}


SHAPES = [
    Google("google", "openid email profile", "/v1/userinfo"),
    Microsoft("microsoft", "openid email profile User.Read", "/v1.0/me"),
    GitHub("github", "user:email read:user", "/api/v3/user"),
    GitLab("gitlab", "read_user email", "/api/v4/user"),
]
each = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)


@asynccontextmanager
async def serving(shape: Shape, directory: Path) -> AsyncIterator[tuple[Server, Provider]]:
    """Run a provider of that shape, and a server that has it as its preset."""
    async with provider(redirect_uris=(f"{APP_URL}/auth/oauth/{shape.id}/callback",)) as idp:
        shape.say(idp)
        oauth = {"presets": {shape.id: shape.settings(idp)}}
        async with running(directory, oauth=oauth, auth={"appUrl": APP_URL}) as server:
            yield server, idp


async def begin(server: Server, shape: Shape) -> tuple[str, str]:
    """Start to sign in; return where the browser is sent, and the cookie that it keeps."""
    async with server.client() as client:
        answer = await client.get(f"/auth/oauth/{shape.id}")
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"], answer.headers["Set-Cookie"].partition(";")[0]


async def sign_in(server: Server, idp: Provider, shape: Shape) -> dict[str, str]:
    """Sign in as a browser does; return what the application is told."""
    location, cookie = await begin(server, shape)
    asked = parse_qs(urlsplit(location).query)
    assert asked["scope"] == [shape.scopes]
    assert asked["redirect_uri"] == [f"{APP_URL}/auth/oauth/{shape.id}/callback"]
    back = urlsplit(idp.approve(location))
    assert f"{back.scheme}://{back.netloc}" == APP_URL
    async with server.client() as client:
        answer = await client.get(f"{back.path}?{back.query}", headers={"Cookie": cookie})
    assert answer.status_code == 302, answer.text
    there = urlsplit(answer.headers["Location"])
    assert f"{there.scheme}://{there.netloc}" == APP_URL
    return {name: value for name, [value] in parse_qs(there.query).items()}


async def whoami(server: Server, told: dict[str, str]) -> dict[str, Any]:
    assert "oauth_error" not in told, told
    async with server.client(told["access_token"]) as client:
        user: dict[str, Any] = (await client.get("/auth/me")).json()["user"]
    return user


async def emails(server: Server) -> list[str]:
    async with await server.sign_in() as admin:
        return [user["email"] for user in (await admin.get("/users")).json()["users"]]


@pytest.mark.slow
@each
async def test_an_account_with_a_verified_email_signs_in_and_is_known_again_by_its_subject(
    shape: Shape, tmp_path: Path
) -> None:
    async with serving(shape, tmp_path) as (server, idp):
        user = await whoami(server, await sign_in(server, idp, shape))
        assert user["email"] == EMAIL
        shape.say(idp, "changed@example.org")
        again = await whoami(server, await sign_in(server, idp, shape))
        assert again["id"] == user["id"]
        assert "changed@example.org" not in await emails(server)


@pytest.mark.slow
@each
async def test_d20_an_account_whose_email_is_not_vouched_for_gets_nothing(
    shape: Shape, tmp_path: Path
) -> None:
    async with serving(shape, tmp_path) as (server, idp):
        before = await emails(server)
        shape.say(idp, before[0], is_verified=False)
        assert await sign_in(server, idp, shape) == {"oauth_error": "email_not_verified"}
        shape.say(idp, is_verified=False)
        assert await sign_in(server, idp, shape) == {"oauth_error": "email_not_verified"}
        assert await emails(server) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "answer"),
    [
        (SHAPES[2], {"scope": "read:user,user:email", "token_type": "bearer"}),
        (
            SHAPES[3],
            {
                "token_type": "Bearer",
                "expires_in": 7200,
                "refresh_token": "8257e65c97202ed1726cf9571600918f3bffb2544b26e00a61df9897668c33a1",
                "scope": "read_user email",
                "created_at": 1607635748,
            },
        ),
    ],
    ids=["github", "gitlab"],
)
async def test_the_token_may_come_in_the_provider_s_own_shape(
    shape: Shape, answer: dict[str, Any], tmp_path: Path
) -> None:
    async with serving(shape, tmp_path) as (server, idp):
        idp.authorization.tokens.add("gho_16C7e42F292c6912E7710c838347Ae178B4a")
        answer = {"access_token": "gho_16C7e42F292c6912E7710c838347Ae178B4a"} | answer
        idp.instead["/token"] = Reply(body=json.dumps(answer).encode())
        assert (await whoami(server, await sign_in(server, idp, shape)))["email"] == EMAIL


@pytest.mark.slow
async def test_github_s_refusal_of_a_code_comes_with_status_200_and_is_one_nevertheless(
    tmp_path: Path,
) -> None:
    github = SHAPES[2]
    async with serving(github, tmp_path) as (server, idp):
        error = {"error": "bad_verification_code", "error_description": "The code is incorrect or expired."}
        idp.instead["/token"] = Reply(body=json.dumps(error).encode())
        assert set(await sign_in(server, idp, github)) == {"oauth_error"}


async def test_microsoft_s_personal_accounts_sign_in_where_no_directory_is_pinned(tmp_path: Path) -> None:
    class Shared(Microsoft):
        def settings(self, idp: Provider) -> dict[str, Any]:
            return super(Microsoft, self).settings(idp)

    shape = Shared("microsoft", SHAPES[1].scopes, "/v1.0/me")
    async with serving(shape, tmp_path) as (server, idp):
        assert await sign_in(server, idp, shape) == {"oauth_error": "email_not_verified"}
        personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
        idp.claims |= {"tid": personal, "iss": f"https://login.microsoftonline.com/{personal}/v2.0"}
        assert (await whoami(server, await sign_in(server, idp, shape)))["email"] == EMAIL
