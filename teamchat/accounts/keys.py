"""Keys derived from the server's one secret, each for one use (in the spirit of RFC 5869).

What is made with one key reveals nothing about what is made with another, and none reveals anything about the
secret.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode


def derive(secret: bytes, use: str) -> bytes:
    """Return the 32 bytes of the key for one use, such as ``links``."""
    return hmac.digest(secret, b"teamchat:" + use.encode(), "sha256")


def mark(secret: bytes) -> str:
    """Return 40 bits by which two secrets differ, and which are too few to confirm a guess."""
    return derive(secret, "mark")[:5].hex()


def token(key: bytes, about: str) -> str:
    """Return the 43 URL-safe characters that belong to `about` under `key`; nobody else can work them out."""
    return urlsafe_b64encode(hmac.digest(key, about.encode(), "sha256")).rstrip(b"=").decode()


def digest(secret: str) -> str:
    """Return what is kept of a token: long random ones need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
