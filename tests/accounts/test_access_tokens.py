"""Access tokens: what is accepted, and every forgery that is not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest

from teamchat.accounts.access_tokens import AccessTokens
from teamchat.errors import SettingsError, Unauthorized
from teamchat.model import User, now_ms
from teamchat.model.ids import new_id

SECRET = b"0123456789abcdef0123456789abcdef"
USER = User(new_id(), "Ada", "ada@example.org", True)
SESSION = new_id()
Claims = dict[str, Any]


@pytest.fixture
def tokens() -> AccessTokens:
    return AccessTokens(SECRET, now_ms)


@pytest.fixture
def token(tokens: AccessTokens) -> str:
    return tokens.sign(USER, SESSION, 900)


def claims_of(token: str) -> Claims:
    claims: Claims = jwt.decode(token, options={"verify_signature": False})
    return claims


def forge(claims: Claims, *, key: Any = SECRET, algorithm: str = "HS256", **headers: Any) -> str:
    return jwt.encode(claims, key, algorithm, headers={"typ": "at+jwt"} | headers)


def segment(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_signed_token_tells_user_and_session(tokens: AccessTokens, token: str) -> None:
    assert tokens.read(token) == (USER.id, SESSION)


def test_d09_the_claims_are_those_decided(token: str) -> None:
    claims = claims_of(token)
    assert claims["exp"] - claims["iat"] == 900
    assert {"iss", "sub", "sid", "iat", "exp", "jti", "email", "userName", "role"} <= set(claims)
    assert (claims["iss"], claims["role"], claims["userName"]) == ("teamchat", "admin", "Ada")


def test_two_tokens_of_one_moment_differ(tokens: AccessTokens, token: str) -> None:
    assert tokens.sign(USER, SESSION, 900) != token


@pytest.mark.parametrize("secret", [b"", b"secret", b"x" * 31])
def test_d10_a_short_secret_is_refused_without_showing_it(secret: bytes) -> None:
    with pytest.raises(SettingsError, match=r"auth\.jwtSecret") as caught:
        AccessTokens(secret, now_ms)
    assert not secret or secret.decode() not in str(caught.value).replace("jwtSecret", "")


def test_a_token_ends_to_the_second() -> None:
    now = now_ms() // 1000 * 1000
    token = AccessTokens(SECRET, lambda: now).sign(USER, SESSION, 10)
    assert AccessTokens(SECRET, lambda: now + 9_999).read(token)
    with pytest.raises(Unauthorized):
        AccessTokens(SECRET, lambda: now + 10_000).read(token)


CHANGES: dict[str, Callable[[Claims], Any]] = {
    "no exp": lambda c: c.pop("exp"),
    "no iat": lambda c: c.pop("iat"),
    "no sub": lambda c: c.pop("sub"),
    "no sid": lambda c: c.pop("sid"),
    "no jti": lambda c: c.pop("jti"),
    "no iss": lambda c: c.pop("iss"),
    "no aud": lambda c: c.pop("aud"),
    "another issuer": lambda c: c.update(iss="elsewhere"),
    "another audience": lambda c: c.update(aud="elsewhere"),
    "exp as a string": lambda c: c.update(exp=str(c["exp"])),
    "exp as a float": lambda c: c.update(exp=c["exp"] + 0.5),
    "exp as true": lambda c: c.update(exp=True),
    "exp null": lambda c: c.update(exp=None),
    "exp infinite": lambda c: c.update(exp=float("inf")),
    "expired": lambda c: c.update(exp=c["iat"] - 1),
    "issued in the future": lambda c: c.update(iat=c["iat"] + 3600, exp=c["exp"] + 3600),
    "not yet valid": lambda c: c.update(nbf=c["iat"] + 3600),
    "sub a number": lambda c: c.update(sub=7),
    "sub no id": lambda c: c.update(sub="../admin"),
    "sid a list": lambda c: c.update(sid=[SESSION]),
    "sid a lone surrogate": lambda c: c.update(sid="\ud800"),
    "jti a number": lambda c: c.update(jti=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_claims_that_are_missing_or_odd_are_refused(
    tokens: AccessTokens, token: str, change: Callable[[Claims], Any]
) -> None:
    claims = claims_of(token)
    assert tokens.read(forge(claims)), "unchanged, the forgery is good"
    change(claims)
    with pytest.raises(Unauthorized):
        tokens.read(forge(claims))


FORGERIES: dict[str, Callable[[str], str]] = {
    "alg none": lambda t: forge(claims_of(t), key=None, algorithm="none"),
    "alg none, signature kept": lambda t: segment({"alg": "none", "typ": "at+jwt"}) + t[t.index(".") :],
    "HS512": lambda t: forge(claims_of(t), key=SECRET * 2, algorithm="HS512"),
    "HS384": lambda t: forge(claims_of(t), key=SECRET * 2, algorithm="HS384"),
    "another secret": lambda t: forge(claims_of(t), key=b"another secret that is long enough to sign"),
    "another type": lambda t: forge(claims_of(t), typ="JWT"),
    "an unknown critical header": lambda t: forge(claims_of(t), crit=["exp"]),
    "a critical header that the library knows": lambda t: forge(claims_of(t), crit=["b64"], b64=True),
    "no signature": lambda t: t[: t.rindex(".") + 1],
    "two segments": lambda t: t[: t.rindex(".")],
    "four segments": lambda t: t + ".x",
    "payload of another": lambda t: ".".join(
        [t.split(".")[0], segment(claims_of(t) | {"sub": new_id()}), t.split(".")[2]]
    ),
    "padding": lambda t: t + "=",
    "foreign characters in the signature": lambda t: t[:-5] + "!!" + t[-5:],
    "white space": lambda t: t + " ",
    "empty": lambda t: "",
    "dots": lambda t: "..",
    "not ASCII": lambda t: t[:-1] + "é",
    "a lone surrogate": lambda t: t + "\ud800",
    "endless": lambda t: t + "A" * 20_000,
    "header no object": lambda t: segment([1]) + t[t.index(".") :],
    "payload no object": lambda t: t.split(".")[0] + "." + segment([1]) + "." + t.split(".")[2],
    "deep header": lambda t: base64.urlsafe_b64encode(b"[" * 5000).decode().rstrip("=") + t[t.index(".") :],
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_forgeries_are_refused(tokens: AccessTokens, token: str, forgery: Callable[[str], str]) -> None:
    with pytest.raises(Unauthorized):
        tokens.read(forgery(token))


def test_no_single_changed_character_leaves_a_token_valid(tokens: AccessTokens, token: str) -> None:
    for place, character in enumerate(token):
        changed = token[:place] + ("B" if character != "B" else "C") + token[place + 1 :]
        with pytest.raises(Unauthorized):
            tokens.read(changed)
