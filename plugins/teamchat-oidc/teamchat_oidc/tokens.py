"""What a provider signs: ID tokens (OpenID Connect Core 1.0, section 3.1.3.7) and logout tokens.

The signature is checked always, by a key that the provider publishes, with an algorithm that it has named
and that takes a public key.  Which one is not for the token to choose: its header only says which of these
it was.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from joserfc import jws
from joserfc.errors import JoseError

from teamchat_oidc.failures import NotBelieved, require
from teamchat_oidc.keys import Key, Keys
from teamchat_oidc.metadata import ALGORITHMS, Metadata

LEEWAY_SECONDS = 60
OLDEST_SECONDS = 600
"""An ID token was made in the sign-in that it is for, and a logout token when the session ended."""
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
_MOST_CHARACTERS = 64 * 1024
_MOST_SUBJECT = 255
_registry = jws.JWSRegistry(algorithms=sorted(ALGORITHMS))


class Logout(NamedTuple):
    """A logout token: whose sessions end, all of `subject` or the one called `sid` there (empty if not said).

    `token_id` is good once; `issued_at` is in seconds.
    """

    subject: str
    sid: str
    token_id: str
    issued_at: int


class Judge:
    """Judges the tokens of one provider, for one client."""

    def __init__(self, metadata: Metadata, keys: Keys, client_id: str) -> None:
        self._metadata = metadata
        self._keys = keys
        self._client_id = client_id

    async def id_token(self, token: object, nonce: str, now: int) -> Mapping[str, Any]:
        """Return the claims of an ID token. Raises `NotBelieved`."""
        _, claims = await self._signed(token)
        self._check_parties(claims)
        _check_times(claims, now)
        given = claims.get("nonce")
        is_ours = isinstance(given, str) and hmac.compare_digest(given.encode(), nonce.encode())
        require(is_ours, "another nonce")
        require(_text(claims, "sub") != "", "no subject")
        return claims

    async def logout_token(self, token: object, now: int) -> Logout:
        """Return what a logout token says (OpenID Connect Back-Channel Logout 1.0, section 2.6).

        Raises `NotBelieved`.
        """
        header, claims = await self._signed(token)
        kind = header.get("typ")
        require(kind is None or _is_type(kind), "a token of another type")
        self._check_parties(claims)
        _check_times(claims, now)
        events = claims.get("events")
        require(isinstance(events, dict) and isinstance(events.get(LOGOUT), dict), "no logout token")
        require("nonce" not in claims, "an ID token")
        subject, sid, token_id = (_text(claims, name) for name in ("sub", "sid", "jti"))
        require(bool(subject or sid), "a logout of nobody")
        require(token_id != "", "no id")
        return Logout(subject, sid, token_id, int(claims["iat"]))

    async def _signed(self, token: object) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """Return header and claims of a token whose signature is right."""
        if not isinstance(token, str) or len(token) > _MOST_CHARACTERS or not token.isascii():
            raise NotBelieved("no token")
        header = _header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in self._metadata.algorithms:
            raise NotBelieved("another algorithm")
        require("crit" not in header and "b64" not in header, "an extension of tokens")
        require(kid is None or isinstance(kid, str), "no such key")
        payload = _verified(token, algorithm, await self._keys.find(kid, algorithm))
        if payload is None and await self._keys.fetch_again():  # It may have another key of the same id.
            payload = _verified(token, algorithm, await self._keys.find(kid, algorithm))
        if payload is None:
            raise NotBelieved("another signature")
        try:
            return header, msgspec.json.decode(payload, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NotBelieved("no claims") from error

    def _check_parties(self, claims: Mapping[str, Any]) -> None:
        """Hold a token to who made it, and for whom (Core, section 3.1.3.7, items 2 to 5)."""
        require(claims.get("iss") == self._metadata.issuer, "another issuer")
        given = claims.get("aud")
        audience = [given] if isinstance(given, str) else given
        is_ours = isinstance(audience, list) and self._client_id in audience
        require(is_ours, "another audience")
        party = claims.get("azp")
        if party is None:
            require(audience == [self._client_id], "several audiences and no party")
        else:
            require(party == self._client_id, "another party")


def _check_times(claims: Mapping[str, Any], now: int) -> None:
    expires, issued, since = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
    require(expires is not None and now < expires + LEEWAY_SECONDS, "an expired token")
    is_late = issued is not None and now - OLDEST_SECONDS - LEEWAY_SECONDS <= issued <= now + LEEWAY_SECONDS
    require(is_late, "an old token, or one of the future")
    require(since is None or since <= now + LEEWAY_SECONDS, "a token of the future")


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotBelieved("a time that is none")
    return value


def _text(claims: Mapping[str, Any], name: str) -> str:
    """Return a claim that is a text of ASCII, of 255 characters at most; empty if it is not there."""
    value = claims.get(name, "")
    if not isinstance(value, str) or len(value) > _MOST_SUBJECT or "\0" in value:
        raise NotBelieved("a claim that is no text")
    return value


def _is_type(kind: object) -> bool:
    return isinstance(kind, str) and kind.lower().removeprefix("application/") in ("logout+jwt", "jwt")


def _header(token: str) -> Mapping[str, Any]:
    parts = token.split(".")
    if len(parts) != 3:
        raise NotBelieved("no token")
    try:
        plain = urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4))
        return msgspec.json.decode(plain, type=dict[str, Any])
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise NotBelieved("no token") from error


def _verified(token: str, algorithm: str, keys: Any) -> bytes | None:
    """Return the payload, if one of these keys has signed it."""
    key: Key
    for key in keys:
        try:
            found = jws.deserialize_compact(token, key.public, [algorithm], _registry)
        except (JoseError, ValueError):
            continue
        return bytes(found.payload)
    return None
