"""Certificates for the tests: each signs itself, and is good from yesterday until tomorrow."""

from __future__ import annotations

import datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def certified(name: str, password: bytes | None = None) -> tuple[bytes, bytes]:
    """Return the certificate of a host, by its name or address, and its key, which a password may lock."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(
            subject, subject, key.public_key(), x509.random_serial_number(), now - _DAY, now + _DAY
        )
        .add_extension(x509.SubjectAlternativeName([_called(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    lock: KeySerializationEncryption = BestAvailableEncryption(password) if password else NoEncryption()
    return made.public_bytes(Encoding.PEM), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)


def _called(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
