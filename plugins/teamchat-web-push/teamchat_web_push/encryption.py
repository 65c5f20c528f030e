"""What a push says, encrypted for one browser (RFC 8291, with aes128gcm of RFC 8188).

Nobody between this server and the browser can read it: only the browser has the private key of `p256dh`.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

MOST_PLAIN_BYTES = 3000
"""Push services take 4,096 bytes; some phones' less."""
_RECORD_BYTES = 4096
_SALT_BYTES = 16
AUTH_BYTES = 16


def public_key(point: bytes) -> ec.EllipticCurvePublicKey:
    """Return the key of an uncompressed point on P-256. Raises `ValueError` for anything else."""
    if len(point) != 65 or point[0] != 4:  # SEC 1, section 2.3.3
        raise ValueError("no uncompressed point of P-256")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except UnsupportedAlgorithm as error:
        raise ValueError("no point of P-256") from error


def point_of(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return a public key as an uncompressed point."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def encrypted(
    plain: bytes,
    p256dh: bytes,
    auth: bytes,
    *,
    private: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """Return the body of a push: one record, with its header.

    A key and a salt are made for each push; tests give them.  Raises `ValueError` for keys that are none, or
    more than `MOST_PLAIN_BYTES`.
    """
    if len(plain) > MOST_PLAIN_BYTES:
        raise ValueError("too long for a push")
    private = private or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(_SALT_BYTES)
    own = point_of(private.public_key())
    secret = private.exchange(ec.ECDH(), public_key(p256dh))
    # RFC 8291, section 3.4, and RFC 8188, section 2.2; HKDF-Expand of one block is an HMAC (RFC 5869).
    ikm = _expand(_mac(auth, secret), b"WebPush: info\0" + p256dh + own, 32)
    pseudorandom = _mac(salt, ikm)
    key = _expand(pseudorandom, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _expand(pseudorandom, b"Content-Encoding: nonce\0", 12)
    header = salt + _RECORD_BYTES.to_bytes(4, "big") + bytes([len(own)]) + own
    return header + AESGCM(key).encrypt(nonce, plain + b"\2", None)


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, hashlib.sha256)


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    return _mac(key, info + b"\1")[:length]
