"""Signing in at a provider that speaks OpenID Connect, and every token that must not be believed."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import trio
from joserfc import jwk
from teamchat_oidc import OIDC, keys
from teamchat_oidc.failures import NotBelieved

from teamchat import Capability
from teamchat.settings import OidcClaims
from teamchat.testing import CapabilityContract, Reply
from tests.web.client import Client

_idp = import_module("plugins.teamchat-oidc.tests.idp")
KEYS, OTHER, World, opened = _idp.KEYS, _idp.OTHER, _idp.World, _idp.opened
FAILED = {"oauth_error": "provider_error"}


class TestOidc(CapabilityContract):
    def capability(self) -> Capability:
        return OIDC


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Any]:
    async with opened(tmp_path) as world:
        await world.find()
        yield world


async def buttons(world: Any) -> list[str]:
    listed = await Client(world.site).ok("GET", "/auth/oauth/providers")
    return [one["id"] for one in listed["providers"]]


async def test_a_new_employee_signs_in_with_what_the_provider_says(world: Any) -> None:
    asked = await world.begin()
    assert asked["scope"] == "openid email profile"
    assert (asked["code_challenge_method"], len(asked["nonce"]), len(asked["state"])) == ("S256", 43, 43)
    assert asked["redirect_uri"] == "https://chat.example.org/app/auth/oauth/company/callback"
    tokens = await world.come_back(asked, world.idp.id_token(asked["nonce"]))
    user = (await world.client(tokens).ok("GET", "/auth/me"))["user"]
    assert (user["email"], user["isAdmin"]) == ("jane@example.org", False)
    exchange = next(one for one in world.idp.server.requests if one.path == "/token")
    assert exchange.form["code_verifier"]
    assert exchange.headers["Authorization"].startswith("Basic ")
    shown = base64.b64decode(exchange.headers["Authorization"].removeprefix("Basic ")).decode()
    assert shown == "the-client:the%20client%27s%20secret"


async def test_the_secret_is_sent_in_the_form_to_a_provider_that_takes_no_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.idp.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        world.idp.publish()
        await world.find()
        assert "access_token" in await world.sign_in()
        exchange = next(one for one in world.idp.server.requests if one.path == "/token")
        assert exchange.form["client_secret"] == "the client's secret"


async def test_a_provider_that_is_down_is_not_shown_and_comes_when_it_does(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        assert await buttons(world) == []
        (await Client(world.site).call("GET", "/auth/oauth/company")).problem(503)
        (await Client(world.site).call("GET", "/auth/oauth/nobody")).problem(404)
        world.idp.answers("/jwks", {}, 500)
        for one in world.found:
            with pytest.raises(NotBelieved):
                await one.find()
        assert await buttons(world) == []
        world.idp.publish()
        await world.find()
        assert await buttons(world) == ["company", "second"]
        world.idp.answers("/.well-known/openid-configuration", {}, 500)
        with pytest.raises(NotBelieved):
            await world.find()
        assert await buttons(world) == ["company", "second"]


SAID: list[dict[str, Any]] = [
    {"issuer": "https://elsewhere.example.org"},
    {"issuer": None},
    {"jwks_uri": "http://169.254.169.254/latest"},
    {"token_endpoint": "http://10.0.0.1/token"},
    {"authorization_endpoint": "javascript:alert(1)"},
    {"userinfo_endpoint": "file:///etc/passwd"},
    {"end_session_endpoint": "https://user@evil.example/"},
    {"token_endpoint": None},
    {"id_token_signing_alg_values_supported": ["none"]},
    {"id_token_signing_alg_values_supported": ["HS256", "HS512"]},
]


async def test_what_a_provider_says_of_itself_is_held_to_its_issuer(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for said in SAID:
            world.idp.metadata = said
            world.idp.publish()
            for one in world.found:
                with pytest.raises(NotBelieved):
                    await one.find()
            assert await buttons(world) == [], said


async def test_discovery_follows_no_redirect_and_reads_no_endless_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        path = "/.well-known/openid-configuration"
        moved = Reply(302, b"", {"Location": f"{world.idp.issuer}/jwks"})
        for reply in (moved, Reply(is_endless=True), Reply(body=b"<html>"), Reply(body=b"[" * 100_000)):
            world.idp.server.instead[path] = reply
            with pytest.raises(NotBelieved):
                await world.find()
        assert world.idp.server.hits("/jwks") == 0


Bad = Callable[[Any, str], Any]


def _hmac_with(world: Any, nonce: str) -> str:
    """Sign with the public key, as if it were a secret: what a library does that believes the header."""
    token = _with_header(world.idp.id_token(nonce), {"alg": "HS256", "kid": "rsa"}, "")
    secret = KEYS["RS256"].as_pem(private=False)
    made = hmac.digest(secret, token.removesuffix(".").encode(), "sha256")
    return token + base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def _with_header(token: str, header: dict[str, Any], signature: str | None = None) -> str:
    _, payload, old = token.split(".")
    head = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    return f"{head}.{payload}.{old if signature is None else signature}"


def _with_claims(token: str, **claims: Any) -> str:
    header, payload, signature = token.split(".")
    old = json.loads(base64.urlsafe_b64decode(payload + "=="))
    new = base64.urlsafe_b64encode(json.dumps(old | claims).encode()).rstrip(b"=").decode()
    return f"{header}.{new}.{signature}"


def _now(seconds: int) -> int:
    return int(time.time()) + seconds


BAD: dict[str, Bad] = {
    "none at all": lambda _world, _nonce: None,
    "no text": lambda _world, _nonce: 5,
    "no token": lambda _world, _nonce: "a.b",
    "no algorithm": lambda world, nonce: _with_header(world.idp.id_token(nonce), {"alg": "none"}, ""),
    "no algorithm, and the signature": lambda world, nonce: _with_header(
        world.idp.id_token(nonce), {"alg": "none", "kid": "rsa"}
    ),
    "HMAC with the public key": _hmac_with,
    "HMAC with the client's secret": lambda world, nonce: world.idp.id_token(
        nonce, key=jwk.OctKey.import_key("the client's secret"), header={"kid": None}
    ),
    "another algorithm than it has named": lambda world, nonce: world.idp.id_token(
        nonce, header={"alg": "RS512"}
    ),
    "somebody's key": lambda world, nonce: world.idp.id_token(nonce, key=OTHER),
    "somebody's key under its name": lambda world, nonce: world.idp.id_token(
        nonce, key=OTHER, header={"kid": "rsa"}
    ),
    "somebody's key in the header": lambda world, nonce: world.idp.id_token(
        nonce, key=OTHER, header={"kid": None, "jwk": OTHER.as_dict(private=False)}
    ),
    "a key of another kind": lambda world, nonce: world.idp.id_token(nonce, header={"kid": "ec"}),
    "claims that were changed": lambda world, nonce: _with_claims(
        world.idp.id_token(nonce), sub="somebody else"
    ),
    "another issuer": lambda world, nonce: world.idp.id_token(nonce, iss="https://evil.example"),
    "an issuer with a slash": lambda world, nonce: world.idp.id_token(nonce, iss=world.idp.issuer + "/"),
    "no issuer": lambda world, nonce: world.idp.id_token(nonce, iss=None),
    "another audience": lambda world, nonce: world.idp.id_token(nonce, aud="another-client"),
    "no audience": lambda world, nonce: world.idp.id_token(nonce, aud=None),
    "several audiences": lambda world, nonce: world.idp.id_token(nonce, aud=["the-client", "another"]),
    "another party": lambda world, nonce: world.idp.id_token(
        nonce, aud=["the-client", "another"], azp="another"
    ),
    "another party alone": lambda world, nonce: world.idp.id_token(nonce, azp="another"),
    "an end long ago": lambda world, nonce: world.idp.id_token(nonce, exp=_now(-120)),
    "no end": lambda world, nonce: world.idp.id_token(nonce, exp=None),
    "an end that is a text": lambda world, nonce: world.idp.id_token(nonce, exp="9999999999"),
    "an end that is true": lambda world, nonce: world.idp.id_token(nonce, exp=True),
    "no time": lambda world, nonce: world.idp.id_token(nonce, iat=None),
    "a time to come": lambda world, nonce: world.idp.id_token(nonce, iat=_now(600)),
    "a time of yesterday": lambda world, nonce: world.idp.id_token(nonce, iat=_now(-86_400)),
    "not yet good": lambda world, nonce: world.idp.id_token(nonce, nbf=_now(600)),
    "another nonce": lambda world, _nonce: world.idp.id_token("another nonce"),
    "no nonce": lambda world, _nonce: world.idp.id_token(None),
    "no subject": lambda world, nonce: world.idp.id_token(nonce, sub=None),
    "a blank subject": lambda world, nonce: world.idp.id_token(nonce, sub=""),
    "a subject that is a number": lambda world, nonce: world.idp.id_token(nonce, sub=7),
    "a subject that is too long": lambda world, nonce: world.idp.id_token(nonce, sub="s" * 256),
    "a logout token": lambda world, nonce: world.idp.logout_token(),
    "an extension": lambda world, nonce: _with_header(
        world.idp.id_token(nonce), {"alg": "RS256", "kid": "rsa", "crit": ["exp"], "exp": 1}
    ),
}


async def test_a_bad_id_token_signs_nobody_in(world: Any) -> None:
    signed_in = []
    for bad, make in BAD.items():
        asked = await world.begin()
        if await world.come_back(asked, make(world, asked["nonce"])) != FAILED:
            signed_in.append(bad)
    assert not signed_in
    async with world.app.storage.read() as tx:
        assert await tx.fetch("select * from identities") == []
        assert await tx.fetch("select * from sessions") == []


async def test_no_algorithm_is_believed_that_the_provider_has_not_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.idp.metadata["id_token_signing_alg_values_supported"] = ["ES256"]
        world.idp.publish()
        await world.find()
        assert await world.sign_in(key=KEYS["RS256"]) == FAILED
        assert "access_token" in await world.sign_in(key=KEYS["ES256"])


NO_KEYS: list[Any] = [
    OTHER.as_dict(private=True, use="sig"),
    OTHER.as_dict(private=False, use="enc"),
    OTHER.as_dict(private=False, alg="RS512"),
    OTHER.as_dict(private=False, key_ops=["encrypt"]),
    OTHER.as_dict(private=False) | {"key_ops": True},
    {"kty": "RSA", "kid": "other", "e": "AQAB", "n": "w" * 171},
    {"kty": "oct", "k": "c2VjcmV0", "kid": "other"},
    {"kty": "RSA", "kid": "other"},
    {"kty": "RSA", "kid": "other", "e": "AQAB", "n": 5},
    "no key",
]


async def test_a_key_that_is_none_for_signatures_is_passed_over(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        for key in NO_KEYS:
            world.idp.answers("/jwks", {"keys": [key, KEYS["ES256"].as_dict(private=False)]})
            await world.find()
            assert await world.sign_in(key=OTHER) == FAILED, key
            assert "access_token" in await world.sign_in(key=KEYS["ES256"])


async def test_keys_that_are_exchanged_are_asked_for_anew_once_a_minute(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "access_token" in await world.sign_in()
    world.idp.keys = [OTHER]
    world.idp.publish()
    asked_before = world.idp.server.hits("/jwks")
    for _ in range(3):  # It was asked less than a minute ago.
        assert await world.sign_in(key=OTHER) == FAILED
    assert world.idp.server.hits("/jwks") == asked_before
    monkeypatch.setattr(keys, "FETCH_SECONDS", 0)
    assert "access_token" in await world.sign_in(key=OTHER)
    assert world.idp.server.hits("/jwks") == asked_before + 1
    assert await world.sign_in(key=KEYS["RS256"]) == FAILED, "the old key is gone"


async def test_many_tokens_of_an_unknown_key_ask_once(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    [first, _] = world.found
    before = world.idp.server.hits("/jwks")
    monkeypatch.setattr(keys, "FETCH_SECONDS", -1)
    found = first._keys
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(_refused, found)
    assert world.idp.server.hits("/jwks") == before + 1


async def _refused(found: Any) -> None:
    with pytest.raises(NotBelieved):
        await found.find("unknown", "RS256")


async def test_a_token_that_names_no_key_is_judged_by_the_only_one_that_fits(world: Any) -> None:
    assert "access_token" in await world.sign_in(header={"kid": None})
    world.idp.keys.append(OTHER)
    world.idp.publish()
    await world.find()
    assert await world.sign_in(header={"kid": None}) == FAILED


async def test_an_email_counts_only_if_the_provider_vouches_for_it(world: Any) -> None:
    for claims in ({"email_verified": False}, {"email_verified": "true"}, {"email_verified": None}):
        assert await world.sign_in(**claims) == {"oauth_error": "email_not_verified"}
    world.idp.answers("/userinfo", {"sub": "248289761001", "email": "j@example.org", "email_verified": True})
    assert await world.sign_in(email_verified=None) == {"oauth_error": "email_not_verified"}
    tokens = await world.sign_in(email=None, email_verified=None)
    assert (await world.client(tokens).ok("GET", "/auth/me"))["user"]["email"] == "j@example.org"
    world.idp.answers("/userinfo", {"sub": "somebody", "email": "ada@example.org", "email_verified": True})
    assert await world.sign_in(email=None) == FAILED


async def test_where_the_operator_says_so_an_email_counts_without_that(tmp_path: Path) -> None:
    async with opened(tmp_path, is_email_trusted=True) as world:
        await world.find()
        assert "access_token" in await world.sign_in(email_verified=None)


async def test_another_person_with_an_email_that_is_linked_is_refused(world: Any) -> None:
    first = await world.sign_in()
    assert await world.sign_in(sub="another") == {"oauth_error": "user_not_found"}
    again = await world.sign_in(email="new@example.org")
    me = [(await world.client(one).ok("GET", "/auth/me"))["user"]["id"] for one in (first, again)]
    assert me[0] == me[1]


async def test_with_invites_nobody_signs_in_who_was_not_invited(tmp_path: Path) -> None:
    async with opened(tmp_path, invites=True) as world:
        await world.find()
        assert await world.sign_in() == {"oauth_error": "user_not_found"}
        assert "access_token" in await world.sign_in(email="ada@example.org")


async def test_a_state_works_once_and_at_its_own_provider_and_in_its_own_browser(world: Any) -> None:
    asked = await world.begin()
    token = world.idp.id_token(asked["nonce"])
    assert await world.come_back(asked, token, "second") == {"oauth_error": "invalid_state"}
    assert await world.come_back(asked, token) == {"oauth_error": "invalid_state"}, "it is spent"
    asked = await world.begin()
    world.cookies.clear()  # The callback of somebody who began in another browser: login CSRF.
    token = world.idp.id_token(asked["nonce"])
    assert await world.come_back(asked, token) == {"oauth_error": "invalid_state"}
    asked = await world.begin()
    assert "access_token" in await world.come_back(asked, world.idp.id_token(asked["nonce"]))
    assert await world.come_back(asked, world.idp.id_token(asked["nonce"])) == {
        "oauth_error": "invalid_state"
    }


async def test_a_code_of_another_sign_in_is_found_out_by_the_nonce(world: Any) -> None:
    of_attacker = await world.begin()
    stolen = world.idp.id_token(of_attacker["nonce"])
    asked = await world.begin()
    assert await world.come_back(asked, stolen) == FAILED


async def test_rfc_9207_an_answer_of_another_issuer_is_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        world.idp.metadata["authorization_response_iss_parameter_supported"] = True
        world.idp.publish()
        await world.find()
        for came in ({"iss": "https://evil.example"}, {}):
            asked = await world.begin()
            token = world.idp.id_token(asked["nonce"])
            assert await world.come_back(asked, token, **came) == {"oauth_error": "invalid_state"}
        assert world.idp.server.hits("/token") == 0
        asked = await world.begin()
        token = world.idp.id_token(asked["nonce"])
        assert "access_token" in await world.come_back(asked, token, iss=world.idp.issuer)


async def is_admin(world: Any, tokens: dict[str, str]) -> bool:
    return bool((await world.client(tokens).ok("GET", "/auth/me"))["user"]["isAdmin"])


async def test_groups_make_admins_and_unmake_them_and_the_last_one_stays(tmp_path: Path) -> None:
    async with opened(tmp_path, admin_groups=["chat-admins"]) as world:
        await world.find()
        tokens = await world.sign_in(groups=["staff"])
        assert not await is_admin(world, tokens)
        tokens = await world.sign_in(groups=["staff", "chat-admins"])
        assert await is_admin(world, tokens)
        assert await is_admin(world, await world.sign_in(groups="chat-admins"))
        # What was an admin's before is one's no longer, in every session.
        assert not await is_admin(world, await world.sign_in(groups=[{"name": "chat-admins"}, 5]))
        assert not await is_admin(world, tokens)
        assert await is_admin(world, await world.sign_in(sub="ada", email="ada@example.org", groups=[]))


async def test_groups_may_stand_deeper_and_in_the_profile(tmp_path: Path) -> None:
    claims = OidcClaims(groups="realm_access.roles")
    async with opened(tmp_path, admin_groups=["boss"], claims=claims) as world:
        await world.find()
        assert await is_admin(world, await world.sign_in(realm_access={"roles": ["boss"]}))
        said = {"sub": "248289761001", "realm_access": {"roles": ["boss"]}}
        world.idp.answers("/userinfo", said)
        assert await is_admin(world, await world.sign_in())
        world.idp.answers("/userinfo", {"sub": "248289761001"})
        assert not await is_admin(world, await world.sign_in())


async def test_without_groups_that_are_admins_the_provider_says_nothing_of_them(world: Any) -> None:
    tokens = await world.sign_in(sub="ada", email="ada@example.org", groups=[])
    assert await is_admin(world, tokens)
