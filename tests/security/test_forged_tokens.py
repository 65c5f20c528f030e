"""Forged access tokens at a running server: whatever is wrong with one, every endpoint answers 401."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest

from teamchat.model.ids import new_id
from tests.security.world import SECRET, Victim, assert_problem, attacked

DEV = {"auth": {"authMode": "dev", "isInviteRequired": False}}
PUBLIC_KEY = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
"""
Parts = tuple[dict[str, Any], dict[str, Any]]


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def segment(value: Any) -> str:
    return encoded(json.dumps(value, separators=(",", ":")).encode())


def made(header: Any, claims: Any, key: bytes = SECRET.encode(), hash: str = "sha256") -> str:
    """Sign whatever there is, as no library would."""
    signed = f"{segment(header)}.{segment(claims)}"
    return f"{signed}.{encoded(hmac.digest(key, signed.encode(), hash))}"


def header(**changes: Any) -> Callable[[Parts], str]:
    return lambda parts: made(parts[0] | changes, parts[1])


def claims(**changes: Any) -> Callable[[Parts], str]:
    return lambda parts: made(parts[0], parts[1] | changes)


def without(name: str) -> Callable[[Parts], str]:
    def forge(parts: Parts) -> str:
        head, body = ({key: value for key, value in part.items() if key != name} for part in parts)
        return made(head, body)

    return forge


NOW = int(time.time())
FORGERIES: dict[str, Callable[[Parts], str]] = {
    "no algorithm": lambda p: made(p[0] | {"alg": "none"}, p[1]).rpartition(".")[0] + ".",
    "no algorithm, with a signature": header(alg="none"),
    "no algorithm, spelt oddly": header(alg="nOnE"),
    "HS512": lambda p: made(p[0] | {"alg": "HS512"}, p[1], hash="sha512"),
    "HS384": lambda p: made(p[0] | {"alg": "HS384"}, p[1], hash="sha384"),
    "RS256 by a public key as HMAC secret": lambda p: made(p[0] | {"alg": "RS256"}, p[1], PUBLIC_KEY),
    "a public key as HMAC secret": lambda p: made(*p, key=PUBLIC_KEY),
    "an empty secret": lambda p: made(*p, key=b""),
    "the secret's hash": lambda p: made(*p, key=hashlib.sha256(SECRET.encode()).digest()),
    "no signature": lambda p: made(*p).rpartition(".")[0] + ".",
    "two segments": lambda p: made(*p).rpartition(".")[0],
    "an extra segment": lambda p: made(*p) + ".x",
    "an encrypted token's five segments": lambda p: made(*p) + ".x.x",
    "no type": without("typ"),
    "another type": header(typ="JWT"),
    "a type that is no text": header(typ=["at+jwt"]),
    "a key of its own choice": header(kid="../../dev/null"),
    "no exp": without("exp"),
    "exp as a string": claims(exp=str(NOW + 900)),
    "exp as a float": claims(exp=NOW + 900.5),
    "exp as true": claims(exp=True),
    "exp infinite": claims(exp=float("inf")),
    "exp of a hundred digits, negative": claims(exp=-(10**100)),
    "expired": claims(exp=NOW - 1),
    "issued an hour from now": claims(iat=NOW + 3600),
    "not before tomorrow": claims(nbf=NOW + 86_400),
    "no iat": without("iat"),
    "no jti": without("jti"),
    "no sub": without("sub"),
    "no sid": without("sid"),
    "an unknown critical extension": header(crit=["http://example.org/ext"]),
    "a critical extension that detaches the claims": header(crit=["b64"], b64=False),
    "a critical list that is a text": header(crit="exp"),
    "another issuer": claims(iss="elsewhere"),
    "another audience": claims(aud="elsewhere"),
    "no audience": without("aud"),
    "a session that is none": claims(sid=new_id()),
    "somebody else": claims(sub=new_id()),
    "a subject that is SQL": claims(sub="' or 1=1 --"),
    "claims that are a list": lambda p: made(p[0], [p[1]]),
    "a header that is a list": lambda p: made([p[0]], p[1]),
    "a signature that another encoding also spells": lambda p: respelt(made(*p)),
}


def respelt(token: str) -> str:
    """Return the token with unused bits of the last character set: it decodes to the same signature."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]


async def parts_of(victim: Victim) -> Parts:
    """Return header and claims of a good token."""
    token = (await victim.ok("POST", "/auth/dev-login", {"email": "ada@example.org"}))["token"]
    head = jwt.get_unverified_header(token)
    return head, jwt.decode(token, options={"verify_signature": False})


@pytest.mark.slow
async def test_every_forgery_is_refused(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        parts = await parts_of(victim)
        async with victim.client() as client:
            for name, forge in FORGERIES.items():
                headers = {"Authorization": f"Bearer {forge(parts)}"}
                answer = await client.get("/auth/me", headers=headers)
                assert answer.status_code == 401, name
                assert_problem(answer, 401)
                assert (await client.head("/events", headers=headers)).status_code == 401, name


@pytest.mark.slow
async def test_every_endpoint_refuses_forgeries(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        parts = await parts_of(victim)
        endpoints = await victim.bearer_endpoints()
        assert len(endpoints) > 35
        for name in ("no algorithm", "an empty secret", "expired", "a session that is none"):
            async with victim.client(FORGERIES[name](parts)) as client:
                for method, path in endpoints:
                    answer = await client.request(method, path, json={})
                    assert answer.status_code == 401, (name, method, path, answer.text)
                    assert method == "HEAD" or list(answer.json()) == ["error"]


@pytest.mark.slow
async def test_the_stream_refuses_every_forgery_in_its_query_too(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        parts = await parts_of(victim)
        async with victim.client() as client:
            for name, forge in FORGERIES.items():
                answer = await client.head("/events", params={"token": forge(parts)})
                assert answer.status_code == 401, name


async def test_what_the_forgeries_differ_from_is_a_good_token(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        parts = await parts_of(victim)
        for token in (made(*parts), claims(iat=NOW + 30)(parts)):
            assert (await victim.ok("GET", "/auth/me", token=token))["user"]["email"] == "ada@example.org"


@pytest.mark.slow
@pytest.mark.parametrize("kid", ["../../../../dev/null", "/dev/null", "' union select 'key' --", 7, None])
async def test_a_key_that_the_token_names_is_never_used(tmp_path: Path, kid: Any) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        head, body = await parts_of(victim)
        for key in (b"", b"key", b"\0" * 32):
            answer = await victim.call("GET", "/auth/me", token=made(head | {"kid": kid}, body, key))
            assert_problem(answer, 401)


async def test_a_claim_of_power_gives_none(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        token = claims(role="admin", isAdmin=True, admin=True)(await parts_of(victim))
        assert not (await victim.ok("GET", "/auth/me", token=token))["user"]["isAdmin"]
        assert_problem(await victim.call("POST", "/channels", {"name": "mine"}, token), 403)


async def test_a_token_counts_in_the_header_alone_but_at_the_stream(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        token = made(*await parts_of(victim))
        endpoints = [one for one in await victim.bearer_endpoints() if one[1] != "/events"]
        async with victim.client() as client:
            for method, path in endpoints:
                for name in ("token", "access_token"):
                    answer = await client.request(method, path, params={name: token}, json={})
                    if method == "HEAD":  # whose answers have no body
                        assert answer.status_code == 401, path
                    else:
                        assert_problem(answer, 401)


ODD_HEADERS = {
    "no scheme": "{}",
    "another scheme": "Basic {}",
    "a tab": "Bearer\t{}",
    "no blank": "Bearer{}",
    "a comma": "Bearer {}, Bearer {}",
    "quotes": 'Bearer "{}"',
    "two tokens": "Bearer {} {}",
    "nothing": "Bearer",
    "endless": "Bearer " + "A" * 20_000,
    "not ASCII": "Bearer {}é",
}


async def test_odd_authorization_headers_are_401_and_never_500(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        token = made(*await parts_of(victim))
        async with victim.client() as client:
            for odd in ODD_HEADERS.values():
                value = odd.format(token, token).encode("latin1")
                assert_problem(await client.get("/auth/me", headers=[(b"Authorization", value)]), 401)
            twice = [("Authorization", f"Bearer {token}")] * 2
            assert_problem(await client.get("/auth/me", headers=twice), 401)
            for good in ("bearer {}", "BEARER {}", "Bearer  {}"):
                answer = await client.get("/auth/me", headers={"Authorization": good.format(token)})
                assert answer.status_code == 200


async def test_of_two_users_tokens_the_header_alone_counts_at_the_stream(tmp_path: Path) -> None:
    async with attacked(tmp_path, **DEV) as victim:
        good, bad = made(*await parts_of(victim)), "bad"
        async with victim.client(bad) as client:
            assert_problem(await client.get("/events", params={"token": good}), 401)
        async with victim.client(good) as client:
            assert (await client.head("/events", params={"token": bad})).status_code == 200
