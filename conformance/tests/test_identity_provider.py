"""The suite's identity provider is as strict as a provider must be, and fails as a scenario wants it to."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from teamchat_conformance.fixtures.provider import (
    DROPS,
    FAILS,
    Grant,
    Provider,
    profile,
)
from teamchat_conformance.instance import OAuth, OAuthProvider
from teamchat_conformance.verdicts import Miss

BACK = "http://127.0.0.1:1/auth/oauth/one/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
ONE = OAuthProvider("one", client_id="chat", client_secret="secret & sign")
TWO = OAuthProvider("two", client_id="chat", client_secret="secret & sign")


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Provider, httpx2.AsyncClient, str]]:
    settings = OAuth(listen="127.0.0.1:0", public_url="http://provider.test/idp", provider=(ONE, TWO))
    async with Provider.serving(settings) as provider:
        base = f"http://127.0.0.1:{provider.port}/idp"
        async with httpx2.AsyncClient(trust_env=False) as client:
            yield provider, client, base


def granted(provider: Provider, **replies: Any) -> Grant:
    asked = {"client_id": "chat", "redirect_uri": BACK, "state": "s", "response_type": "code"}
    asked |= {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    location = f"{provider.url('one', 'authorize')}?{urlencode(asked)}"
    return provider.grant(location, profile("u@conformance.test", name="U"), **replies)


def form(grant: Grant, **changed: str) -> dict[str, str]:
    return {
        "grant_type": "authorization_code",
        "code": grant.code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        "client_id": "chat",
        "client_secret": "secret & sign",
        **changed,
    }


async def test_a_code_becomes_a_token_once_and_the_token_shows_the_profile() -> None:
    async with serving() as (provider, client, base):
        grant = granted(provider)
        first = await client.post(f"{base}/one/token", data=form(grant))
        second = await client.post(f"{base}/one/token", data=form(grant))
        token = first.json()["access_token"]
        shown = await client.get(f"{base}/one/userinfo", headers={"Authorization": f"Bearer {token}"})
    assert (first.status_code, second.status_code) == (200, 400)
    assert second.json() == {"error": "invalid_grant"}
    assert shown.json() == {**grant.profile, "email": "u@conformance.test", "email_verified": True}
    assert len(grant.requests["token"]) == 2
    assert len(grant.requests["userinfo"]) == 1


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"redirect_uri": BACK + "x"}, 400),
        ({"code_verifier": "w" * 43}, 400),
        ({"code": "another"}, 400),
        ({"grant_type": "password"}, 400),
        ({"client_secret": "wrong"}, 401),
    ],
)
async def test_a_code_is_bound_to_its_request(changed: dict[str, str], status: int) -> None:
    async with serving() as (provider, client, base):
        grant = granted(provider)
        refused = await client.post(f"{base}/one/token", data=form(grant, **changed))
        good = await client.post(f"{base}/one/token", data=form(grant))
    assert refused.status_code == status
    assert good.status_code == 200


async def test_a_code_is_of_no_use_at_another_provider_and_with_http_basic_it_is() -> None:
    async with serving() as (provider, client, base):
        grant = granted(provider)
        elsewhere = await client.post(f"{base}/two/token", data=form(grant))
        body = {name: value for name, value in form(grant).items() if not name.startswith("client_")}
        basic = await client.post(f"{base}/one/token", data=body, auth=("chat", "secret+%26+sign"))
    assert elsewhere.status_code == 400
    assert basic.status_code == 200


async def test_a_token_of_nobody_shows_nothing() -> None:
    async with serving() as (_, client, base):
        shown = await client.get(f"{base}/one/userinfo", headers={"Authorization": "Bearer none"})
        lost = await client.get(f"{base}/three/userinfo")
    assert (shown.status_code, lost.status_code) == (401, 404)


async def test_a_scripted_answer_is_for_its_own_sign_in() -> None:
    async with serving() as (provider, client, base):
        failing, dropping, good = (
            granted(provider, token=FAILS),
            granted(provider, token=DROPS),
            granted(provider),
        )
        assert (await client.post(f"{base}/one/token", data=form(failing))).status_code == 500
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(f"{base}/one/token", data=form(dropping))
        assert (await client.post(f"{base}/one/token", data=form(good))).status_code == 200
        assert [received.path for received in provider.log] == ["/idp/one/token"] * 3


async def test_a_browser_that_comes_by_itself_is_sent_back_with_a_code() -> None:
    async with serving() as (_, client, base):
        answer = await client.get(f"{base}/one/authorize", params={"redirect_uri": BACK, "state": "s"})
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{BACK}?code=")


async def test_a_redirect_to_somewhere_else_is_the_servers_mistake() -> None:
    async with serving() as (provider, _, _):
        with pytest.raises(Miss, match=r"elsewhere\.example"):
            provider.grant("https://elsewhere.example/one/authorize?state=s", profile("u@conformance.test"))
