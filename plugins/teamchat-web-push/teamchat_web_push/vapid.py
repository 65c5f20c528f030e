"""The key pair by which push services know this server, and what it signs (RFC 8292).

It is made at the first start and kept in the database, so that all servers of an installation have the same,
and it is in every backup: with another one, no subscription of a browser works any more.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from teamchat import StorageError
from teamchat.model import now_ms
from teamchat_web_push.encryption import point_of

if TYPE_CHECKING:
    from teamchat import Storage, Transaction

LIFETIME_SECONDS = 12 * 3600
"""How long a signature holds; push services refuse more than 24 hours."""
_RENEWED_SECONDS = 6 * 3600
_MOST_ORIGINS = 1000
_SCALAR_BYTES = 32
_READ = "select private_key from web_push_keys where id = 1"
_STORE = "insert into web_push_keys (id, private_key, made_at) values (1, $1, $2) on conflict do nothing"


def base64url(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the bytes of base64url, padded or not. Raises `ValueError` for anything else."""
    if not text.isascii() or not set("+/").isdisjoint(text):
        raise ValueError("no base64url")
    return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), b"-_", validate=True)


class Vapid:
    """Signs for push services. `public` is the key that browsers are given, as an uncompressed point."""

    def __init__(
        self, private: ec.EllipticCurvePrivateKey, subject: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._private = private
        self._subject = subject
        self._clock = clock
        self._known: dict[str, tuple[float, str]] = {}
        self.public = point_of(private.public_key())

    def authorization(self, endpoint: str) -> str:
        """Return the header ``Authorization`` for an endpoint; it is signed once in some hours an origin."""
        parts = urlsplit(endpoint)
        origin, now = f"{parts.scheme}://{parts.netloc}", self._clock()
        made_at, header = self._known.get(origin, (-float("inf"), ""))
        if not 0 <= now - made_at < _RENEWED_SECONDS:
            header = f"vapid t={self._token(origin, int(now))}, k={base64url(self.public)}"
            if len(self._known) >= _MOST_ORIGINS:
                self._known.clear()
            self._known[origin] = now, header
        return header

    def _token(self, origin: str, now: int) -> str:
        claims = {"aud": origin, "exp": now + LIFETIME_SECONDS, "sub": self._subject}
        signed = ".".join(
            base64url(msgspec.json.encode(part)) for part in ({"typ": "JWT", "alg": "ES256"}, claims)
        )
        r, s = decode_dss_signature(self._private.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        signature = b"".join(number.to_bytes(_SCALAR_BYTES, "big") for number in (r, s))
        return f"{signed}.{base64url(signature)}"


def private_key(scalar: str) -> ec.EllipticCurvePrivateKey:
    """Return the private key of a scalar in base64url."""
    return ec.derive_private_key(int.from_bytes(from_base64url(scalar), "big"), ec.SECP256R1())


async def ensure_key(storage: Storage) -> ec.EllipticCurvePrivateKey:
    """Return the server's private key; it is made if there is none."""
    async with storage.read() as tx:
        found = await _key(tx)
    if found is None:
        made = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
        async with storage.write() as tx:
            await tx.fetch(_STORE, base64url(made.to_bytes(_SCALAR_BYTES, "big")), now_ms())
            found = await _key(tx)  # Another server may have been first.
    if found is None:
        raise StorageError("the key for pushes can't be kept")
    return found


class VapidKey:
    """What an installation signs with, read or made when it is asked for first."""

    def __init__(self, storage: Storage, subject: str) -> None:
        self._storage = storage
        self._subject = subject
        self._found: Vapid | None = None

    async def get(self) -> Vapid:
        """Return it."""
        if self._found is None:
            self._found = Vapid(await ensure_key(self._storage), self._subject)
        return self._found


async def _key(tx: Transaction) -> ec.EllipticCurvePrivateKey | None:
    rows = await tx.fetch(_READ)
    return private_key(rows[0][0]) if rows else None
