"""An ID token counts if it was made for this client, for this sign-in, and lately."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from teamchat_auth_oauth import id_token
from teamchat_auth_oauth.providers import Configured

from teamchat.interfaces import Grant, Profile
from teamchat.testing import Provider

from .conftest import World, told

NOW = 1_800_000_000
GOOD = {"iss": "https://id.test", "sub": "1", "aud": "me", "exp": NOW + 60, "iat": NOW, "nonce": "the nonce"}
FAILED = {"oauth_error": "provider_error"}


def encoded(claims: Any) -> str:
    parts = [msgspec.json.encode({"alg": "RS256"}), msgspec.json.encode(claims), b"unchecked"]
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def read(token: object, issuer: str | None = "https://id.test") -> Mapping[str, Any]:
    return id_token.read(token, client_id="me", issuer=issuer, nonce="the nonce", now_seconds=NOW)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"aud": ["me"]},
        {"aud": ["me", "other"], "azp": "me"},
        {"azp": "me"},
        {"exp": NOW - 30},
        {"email": "jane@example.org"},
    ],
)
def test_a_good_one_tells_its_claims(changed: dict[str, Any]) -> None:
    assert read(encoded(GOOD | changed)) == GOOD | changed


def test_an_issuer_that_is_not_known_is_not_checked() -> None:
    assert read(encoded(GOOD), issuer=None) == GOOD


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.test"},
        {"iss": "https://id.test/"},
        {"iss": None},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": []},
        {"aud": None},
        {"aud": ["me", "other"]},
        {"aud": ["me", "other"], "azp": "other"},
        {"azp": "other"},
        {"exp": NOW - 61},
        {"exp": None},
        {"exp": "soon"},
        {"iat": None},
        {"iat": NOW + 3600},
        {"nbf": NOW + 3600},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": ["the nonce"]},
        {"sub": 1},
        {"sub": None},
    ],
)
def test_one_that_is_not_ours_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - any exception means that it can't be believed
        read(encoded(GOOD | changed))


@pytest.mark.parametrize("name", GOOD)
def test_every_claim_must_be_there(name: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011
        read(encoded({key: value for key, value in GOOD.items() if key != name}))


@pytest.mark.parametrize("odd", [None, 1, "", "a.b", "a.b.c.d", "..", "a.é.c", "a.bnVsbA.c", "a.W10.c", {}])
def test_what_is_no_token_is_refused(odd: object) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011
        read(odd)


@pytest.mark.parametrize(
    "claims",
    [{"nonce": "of another sign-in"}, {"aud": "another client"}, {"exp": 1}, {"sub": "somebody else"}],
)
async def test_a_sign_in_with_a_wrong_id_token_fails(
    world: World, idp: Provider, claims: dict[str, Any]
) -> None:
    idp.claims = claims
    assert await world.sign_in() == FAILED
    assert await world.count("users") == 1


async def test_the_nonce_is_that_of_the_same_sign_in(world: World, idp: Provider) -> None:
    browser = world.browser()
    first, second = idp.approve(await browser.begin()), idp.approve(await browser.begin())
    codes = idp.authorization.codes
    one, other = codes
    codes[one], codes[other] = (
        replace(codes[one], nonce=codes[other].nonce),
        replace(codes[other], nonce=codes[one].nonce),
    )
    assert told(await browser.get(first)) == FAILED
    assert told(await browser.get(second)) == FAILED


async def test_the_claims_are_there_for_the_function_that_reads_the_profile(
    world: World, idp: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Grant] = []

    async def read_claims(grant: Grant) -> Profile:
        seen.append(grant)
        return Profile(grant.claims["sub"], grant.claims["email"])

    as_known(world, monkeypatch, profile=read_claims)
    idp.claims = {"email": "claimed@example.org"}
    assert (await world.me(await world.sign_in()))["email"] == "claimed@example.org"
    assert (seen[0].provider.id, seen[0].tenant) == ("acme", None)
    assert idp.hits("/userinfo") == 0


async def test_without_openid_an_id_token_is_not_read(
    world: World, idp: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_known(world, monkeypatch, scopes="email")
    idp.claims = {"nonce": "whatever"}
    assert "access_token" in await world.sign_in()


@pytest.mark.parametrize("issuer", ["https://evil.test", "", "HTTP"])
async def test_an_answer_of_another_issuer_is_refused(
    world: World, idp: Provider, monkeypatch: pytest.MonkeyPatch, issuer: str
) -> None:
    as_known(world, monkeypatch, issuer=idp.base)
    idp.tells_issuer, idp.issuer = True, issuer
    browser = world.browser()
    assert told(await browser.get(idp.approve(await browser.begin()))) == {"oauth_error": "invalid_state"}
    assert idp.hits("/token") == 0


@pytest.mark.parametrize("tells_issuer", [True, False])
async def test_an_answer_of_the_issuer_or_of_none_is_taken(
    world: World, idp: Provider, monkeypatch: pytest.MonkeyPatch, tells_issuer: bool
) -> None:
    as_known(world, monkeypatch, issuer=idp.base)
    idp.tells_issuer = tells_issuer
    assert "access_token" in await world.sign_in()


async def test_an_id_token_of_another_issuer_is_refused(
    world: World, idp: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_known(world, monkeypatch, issuer=idp.base)
    idp.claims = {"iss": "https://evil.test"}
    assert await world.sign_in() == FAILED


def as_known(world: World, monkeypatch: pytest.MonkeyPatch, **known: Any) -> None:
    """Let the provider be one of which a plugin knows more than the configuration can say."""
    oauth = world.oauth
    at: Configured = oauth.at("acme")
    monkeypatch.setitem(oauth._configured, "acme", replace(at, provider=replace(at.provider, **known)))
