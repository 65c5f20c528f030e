"""The public keys of a provider (RFC 7517), which it exchanges now and then.

A key that is not known is asked for at once, but not more than once a minute, however many tokens name one.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Sequence
from typing import Any

import trio
from joserfc import jwk
from joserfc.errors import JoseError
from msgspec import Struct

from teamchat_oidc.asking import read
from teamchat_oidc.failures import NotBelieved

FETCH_SECONDS = 60
_LEAST_RSA_BITS = 2048
_MOST_KEYS = 100
_KINDS = {"R": "RSA", "P": "RSA", "E": "EC"}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}


class _KeySet(Struct, frozen=True):
    keys: Sequence[Any]


class Key(Struct, frozen=True):
    """A public key: its id, if it has one, and what it is."""

    kid: str | None
    kind: str
    curve: str | None
    algorithm: str | None
    public: Any

    def fits(self, algorithm: str) -> bool:
        """Whether something may be signed by it with this algorithm."""
        if self.algorithm not in (None, algorithm):
            return False
        if algorithm in ("EdDSA", "Ed25519"):
            return (self.kind, self.curve) == ("OKP", "Ed25519")
        return self.kind == _KINDS[algorithm[0]] and self.curve == _CURVES.get(algorithm)


class Keys:
    """The keys of one provider; `url` is where they are asked for."""

    def __init__(self) -> None:
        self.url = ""
        self._keys: Sequence[Key] = ()
        self._asked_at = -float("inf")
        self._asking = trio.Lock()

    async def fetch(self) -> None:
        """Ask for them. Raises `NotBelieved`, and keeps those that it has."""
        self._asked_at = trio.current_time()
        found = await read(self.url, _KeySet)
        self._keys = [key for one in found.keys[:_MOST_KEYS] if (key := _key(one)) is not None]

    async def find(self, kid: str | None, algorithm: str) -> Sequence[Key]:
        """Return the keys by which a token may be signed. Raises `NotBelieved` if there is none."""
        if not (found := self._fitting(kid, algorithm)) and await self.fetch_again():
            found = self._fitting(kid, algorithm)
        if not found:
            raise NotBelieved("no such key")
        return found

    async def fetch_again(self) -> bool:
        """Ask for them anew, unless that was done within the last minute; return whether it was done now."""
        asked_at = self._asked_at
        async with self._asking:
            if self._asked_at != asked_at:
                return True  # Another token has asked meanwhile.
            if trio.current_time() - asked_at < FETCH_SECONDS:
                return False
            await self.fetch()
        return True

    def _fitting(self, kid: str | None, algorithm: str) -> Sequence[Key]:
        """Return those of this id; for a token that names none the only one that fits."""
        fitting = [key for key in self._keys if key.fits(algorithm)]
        if kid is not None:
            return [key for key in fitting if key.kid == kid]
        return fitting if len(fitting) == 1 else []


def _bits(number: str) -> int:
    """Return how long a number is, as RFC 7518 writes it (section 2)."""
    return int.from_bytes(urlsafe_b64decode(number + "=" * (-len(number) % 4))).bit_length()


def _key(given: Any) -> Key | None:
    """Return a key to check signatures with; None for any other, such as one for encryption, or a secret."""
    if not isinstance(given, dict) or given.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    operations = given.get("key_ops") or ["verify"]
    is_to_verify = isinstance(operations, list) and "verify" in operations
    if "d" in given or given.get("use", "sig") != "sig" or not is_to_verify:
        return None
    try:
        if given["kty"] == "RSA" and _bits(given["n"]) < _LEAST_RSA_BITS:
            return None
        public = jwk.import_key(given)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    kid, algorithm = given.get("kid"), given.get("alg")
    return Key(
        kid if isinstance(kid, str) else None,
        given["kty"],
        given.get("crv"),
        algorithm if isinstance(algorithm, str) else None,
        public,
    )
