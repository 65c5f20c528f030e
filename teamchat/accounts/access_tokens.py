"""Access tokens: JWTs signed with HS256 (RFC 7519, RFC 8725, decision D-09).

There is one algorithm, one issuer, one audience and one type, and every claim the server relies on is
required. Of a valid token, only `sub` and `sid` are trusted. Email, user name and role are in it for clients
to show; the server reads them afresh.

All tokens have exactly the same header, so nothing a token says about itself decides how it is checked. What
remains is the standard library's HMAC. Libraries for JWTs support every algorithm, and for that load
`cryptography` and an HTTP client, a seventh of a fresh server's memory.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import lru_cache
from hmac import compare_digest
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from teamchat.accounts import keys
from teamchat.errors import SettingsError, Unauthorized
from teamchat.model import User
from teamchat.model.ids import could_be_id, new_id

MIN_SECRET_BYTES = 32
_MAX_LENGTH = 8192
_LEEWAY_MS = 60_000
_REMEMBERED = 4096


def _segment(value: object) -> str:
    """Return a part of a token: JSON in base64url without padding (RFC 7515, section 2)."""
    return urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()


_HEADER = _segment({"alg": "HS256", "typ": "at+jwt"})  # RFC 9068, section 2.1


class _Claims(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a token must say, and from when on it holds if it says that."""

    iss: Literal["teamchat"]
    aud: Literal["teamchat"]
    sub: str
    sid: str
    iat: int
    exp: int
    jti: str
    nbf: int = 0


class _AllClaims(_Claims, frozen=True, kw_only=True):
    """The same with what is in it for clients."""

    email: str
    user_name: str
    role: Literal["admin", "user"]


class Bearer(NamedTuple):
    """What a valid access token says that the server believes."""

    user_id: str
    session_id: str


class _Signed(NamedTuple):
    """A token whose signature and form are good; its times, in seconds, are still to be held to the clock."""

    bearer: Bearer
    issued: int
    expires: int


class AccessTokens:
    """Signs and reads access tokens with one secret. Raises `SettingsError` for a short secret (D-10)."""

    def __init__(self, secret: bytes, clock: Callable[[], int]) -> None:
        if len(secret) < MIN_SECRET_BYTES:
            raise SettingsError(
                f"auth.jwtSecret is shorter than {MIN_SECRET_BYTES} bytes. Give a long random one, or none: "
                "then one is made and kept in the data directory."
            )
        self._secret = secret
        self._clock = clock
        # The same few tokens come again and again.
        self._signed = lru_cache(_REMEMBERED)(self._verify)

    def sign(self, user: User, session_id: str, lifetime: int) -> str:
        """Return an access token of `user` in a session that is valid for `lifetime` seconds."""
        issued = self._clock() // 1000
        claims = _AllClaims(
            iss="teamchat",
            aud="teamchat",
            sub=user.id,
            sid=session_id,
            iat=issued,
            exp=issued + lifetime,
            jti=new_id(),
            email=user.email,
            user_name=user.user_name,
            role="admin" if user.is_admin else "user",
        )
        signed = f"{_HEADER}.{_segment(claims)}"
        return f"{signed}.{keys.token(self._secret, signed)}"

    def read(self, token: str) -> Bearer:
        """Return whose token this is. Raises `Unauthorized` for anything but a valid access token."""
        signed = self._signed(token)
        now = self._clock()
        if signed.expires * 1000 <= now or signed.issued * 1000 > now + _LEEWAY_MS:
            raise Unauthorized
        return signed.bearer

    def _verify(self, token: str) -> _Signed:
        """Check everything that no later moment can change."""
        signed, _, signature = token.rpartition(".")
        header, _, payload = signed.partition(".")
        if len(token) > _MAX_LENGTH or header != _HEADER or not token.isascii():
            raise Unauthorized
        # Compared as text: of the ways to write the same signature in base64 one alone is good.
        if not compare_digest(keys.token(self._secret, signed), signature):
            raise Unauthorized
        try:
            claims = _decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (ValueError, msgspec.DecodeError, RecursionError):
            raise Unauthorized from None
        if not could_be_id(claims.sub) or not could_be_id(claims.sid):
            raise Unauthorized
        return _Signed(Bearer(claims.sub, claims.sid), max(claims.iat, claims.nbf), claims.exp)


_decode = msgspec.json.Decoder(_Claims).decode
