"""Access tokens: JWTs signed with HS256 (RFC 7519, RFC 8725, decision D-09).

One algorithm, one issuer, one audience, one type; every claim the server relies on
is required; and of a valid token only `sub` and `sid` are believed.  Email, user name and role are in it
for clients to show, and the server reads them afresh.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jwt

from teamchat.errors import SettingsError, Unauthorized
from teamchat.model import User
from teamchat.model.ids import could_be_id, new_id

MIN_SECRET_BYTES = 32
_ALGORITHM = "HS256"
_TYPE = "at+jwt"  # RFC 9068, section 2.1
_ISSUER = "teamchat"
_AUDIENCE = "teamchat"
_REQUIRED = ["exp", "iat", "sub", "sid", "jti", "iss", "aud"]
_MAX_LENGTH = 8192
_LEEWAY_MS = 60_000
_REMEMBERED = 4096


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
        # The same few tokens come again and again, and checking one takes some 70 microseconds.
        self._signed = lru_cache(_REMEMBERED)(self._verify)
        # Times are checked against `clock`, below; PyJWT knows the wall clock alone.
        self._jwt = jwt.PyJWT(
            options={"enforce_minimum_key_length": True, "verify_exp": False, "verify_iat": False}
        )

    def sign(self, user: User, session_id: str, lifetime: int) -> str:
        """Return an access token of `user` in a session that is valid for `lifetime` seconds."""
        issued = self._clock() // 1000
        claims = {
            "iss": _ISSUER,
            "aud": _AUDIENCE,
            "sub": user.id,
            "sid": session_id,
            "iat": issued,
            "exp": issued + lifetime,
            "jti": new_id(),
            "email": user.email,
            "userName": user.user_name,
            "role": "admin" if user.is_admin else "user",
        }
        return self._jwt.encode(claims, self._secret, _ALGORITHM, headers={"typ": _TYPE})

    def read(self, token: str) -> Bearer:
        """Return whose token this is. Raises `Unauthorized` for anything but a valid access token."""
        signed = self._signed(token)
        now = self._clock()
        if signed.expires * 1000 <= now or signed.issued * 1000 > now + _LEEWAY_MS:
            raise Unauthorized
        return signed.bearer

    def _verify(self, token: str) -> _Signed:
        """Check everything that no later moment can change."""
        if len(token) > _MAX_LENGTH or not _is_canonical(token):
            raise Unauthorized
        try:
            decoded = self._jwt.decode_complete(
                token,
                self._secret,
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                issuer=_ISSUER,
                options={"require": _REQUIRED},
            )
        # Header and claims are whoever's who sent the token: an odd one must never be a 500.
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise Unauthorized from None
        # RFC 7515, section 4.1.11: this server understands no extension that a token could insist on.
        if decoded["header"].get("typ") != _TYPE or "crit" in decoded["header"]:
            raise Unauthorized
        return _believed(decoded["payload"])


def _believed(claims: dict[str, Any]) -> _Signed:
    issued, expires, user_id, session_id = claims["iat"], claims["exp"], claims["sub"], claims["sid"]
    if type(issued) is not int or type(expires) is not int:
        raise Unauthorized
    if not isinstance(session_id, str) or not could_be_id(user_id) or not could_be_id(session_id):
        raise Unauthorized
    return _Signed(Bearer(user_id, session_id), issued, expires)


def _is_canonical(token: str) -> bool:
    """Return whether the signature is written in its only canonical form.

    Base64 leaves two bits of the last character unused, and Python's decoder skips foreign characters:
    without this a changed token could still be valid.
    """
    signature = token.rpartition(".")[2]
    try:
        decoded = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except ValueError:
        return False
    return urlsafe_b64encode(decoded).rstrip(b"=").decode() == signature
