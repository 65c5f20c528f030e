"""Certificates for the tests, by trustme: each from an authority of its own, which stands beside it."""

from __future__ import annotations

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)


def certified(name: str, password: bytes | None = None) -> tuple[bytes, bytes]:
    """Return as one PEM what a host shows and is trusted by, and its key, which a password may lock."""
    authority = trustme.CA()
    issued = authority.issue_cert(name)
    shown = b"".join(pem.bytes() for pem in issued.cert_chain_pems) + authority.cert_pem.bytes()
    key = issued.private_key_pem.bytes()
    if password:
        lock = BestAvailableEncryption(password)
        key = load_pem_private_key(key, None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)
    return shown, key
