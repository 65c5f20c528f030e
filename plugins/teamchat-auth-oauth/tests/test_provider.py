"""The provider that the tests sign in at is as strict as one must be."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from teamchat.testing import Provider, Reply, provider

VERIFIER = "v" * 43
REDIRECT = "https://chat.example.org/auth/oauth/acme/callback"


@pytest.fixture
async def idp() -> AsyncIterator[Provider]:
    async with provider(redirect_uris=(REDIRECT,)) as running:
        yield running


def location(idp: Provider, **changed: str) -> str:
    query = {
        "response_type": "code",
        "client_id": idp.client_id,
        "redirect_uri": REDIRECT,
        "scope": "openid email",
        "state": "the state",
        "nonce": "the nonce",
        "code_challenge": create_s256_code_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    return f"{idp.authorization_url}?{urlencode(query | changed)}"


async def exchange(idp: Provider, code: str, *, auth: Any = None, **changed: str) -> httpx2.Response:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
    }
    if auth is None:
        form |= {"client_id": idp.client_id, "client_secret": idp.client_secret}
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(idp.token_url, data=form | changed, auth=auth)


def code_of(callback: str) -> str:
    return parse_qs(urlsplit(callback).query)["code"][0]


async def get(url: str, token: str = "none") -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.get(url, headers={"Authorization": f"Bearer {token}"})


async def test_a_whole_sign_in_ends_with_the_profile(idp: Provider) -> None:
    callback = idp.approve(location(idp))
    assert parse_qs(urlsplit(callback).query)["state"] == ["the state"]
    token = (await exchange(idp, code_of(callback))).json()
    assert (await get(idp.user_info_url, token["access_token"])).json() == idp.profile
    claims = json.loads(base64.urlsafe_b64decode(token["id_token"].split(".")[1] + "=="))
    assert claims | {"iss": idp.issuer, "aud": [idp.client_id], "nonce": "the nonce"} == claims


async def test_the_authorization_endpoint_is_there_for_browsers_too(idp: Provider) -> None:
    answer = await get(location(idp))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(f"{REDIRECT}?code=")


async def test_the_client_may_prove_itself_by_basic(idp: Provider) -> None:
    code = code_of(idp.approve(location(idp)))
    assert (await exchange(idp, code, auth=(idp.client_id, idp.client_secret))).status_code == 200


async def test_a_wrong_secret_is_refused(idp: Provider) -> None:
    code = code_of(idp.approve(location(idp)))
    assert (await exchange(idp, code, client_secret="wrong")).json()["error"] == "invalid_client"


@pytest.mark.parametrize("changed", [{"code_verifier": "w" * 43}, {"redirect_uri": f"{REDIRECT}/"}])
async def test_the_verifier_and_the_address_must_be_those_of_the_start(
    idp: Provider, changed: dict[str, str]
) -> None:
    code = code_of(idp.approve(location(idp)))
    assert (await exchange(idp, code, **changed)).json()["error"] == "invalid_grant"


async def test_a_code_has_one_try(idp: Provider) -> None:
    code = code_of(idp.approve(location(idp)))
    assert (await exchange(idp, code)).status_code == 200
    assert (await exchange(idp, code)).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "changed", [{"code_challenge_method": "plain"}, {"code_challenge": ""}, {"redirect_uri": "https://evil/"}]
)
async def test_a_start_without_pkce_or_with_another_address_is_refused(
    idp: Provider, changed: dict[str, str]
) -> None:
    answer = await get(location(idp, **changed))
    assert "code=" not in answer.headers.get("Location", "")
    assert answer.status_code == 400 or "error=" in answer.headers["Location"]


async def test_a_profile_and_further_pages_need_the_access_token(idp: Provider) -> None:
    idp.pages["/user/emails"] = [{"email": "jane@example.org"}]
    assert (await get(idp.user_info_url, "guessed")).status_code == 401
    assert (await get(f"{idp.base}/user/emails", "guessed")).status_code == 401
    token = (await exchange(idp, code_of(idp.approve(location(idp))))).json()["access_token"]
    assert (await get(f"{idp.base}/user/emails", token)).json() == [{"email": "jane@example.org"}]
    assert (await get(f"{idp.base}/elsewhere", token)).status_code == 404


async def test_any_answer_can_be_another(idp: Provider) -> None:
    idp.instead["/token"] = Reply(503, b"not now", {"Content-Type": "text/plain"})
    answer = await exchange(idp, "code")
    assert (answer.status_code, answer.text) == (503, "not now")
    assert idp.hits("/token") == 1
    assert idp.requests[0].form["code"] == "code"


async def test_a_user_may_refuse_and_the_provider_may_tell_its_name(idp: Provider) -> None:
    idp.denied, idp.tells_issuer = "access_denied", True
    query = parse_qs(urlsplit(idp.approve(location(idp))).query)
    assert query == {"state": ["the state"], "error": ["access_denied"], "iss": [idp.issuer]}
