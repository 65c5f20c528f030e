"""Codes by time (RFC 6238): six digits of HMAC-SHA-1, a new one every 30 seconds."""

from __future__ import annotations

import hmac
import secrets
import struct
from base64 import b32encode
from urllib.parse import quote

STEP_MS = 30_000
DIGITS = 6
SECRET_BYTES = 20
"""As long as the hash (RFC 4226, section 4, requirement 6)."""
AROUND = 1
"""By so many steps a phone's clock may differ (RFC 6238, section 5.2)."""


def new_secret() -> bytes:
    """Return a new secret."""
    return secrets.token_bytes(SECRET_BYTES)


def step_at(now: int) -> int:
    """Return the step of a time in epoch milliseconds."""
    return now // STEP_MS


def code_at(secret: bytes, step: int) -> str:
    """Return the code of a step (RFC 4226, section 5.3)."""
    digest = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    offset = digest[-1] & 15
    [number] = struct.unpack_from(">I", digest, offset)
    return f"{(number & 0x7FFFFFFF) % 10**DIGITS:0{DIGITS}}"


def step_of(secret: bytes, code: str, now: int, after: int) -> int | None:
    """Return the step that a code is of, around `now` and later than the step `after`; None if of none."""
    found = None
    for step in range(step_at(now) - AROUND, step_at(now) + AROUND + 1):
        is_same = hmac.compare_digest(code_at(secret, step).encode(), code.encode("utf-8", "replace"))
        if is_same and step > after and found is None:
            found = step
    return found


def in_base32(secret: bytes) -> str:
    """Return a secret as people type it."""
    return b32encode(secret).decode().rstrip("=")


def address(secret: bytes, issuer: str, account: str) -> str:
    """Return the address that a QR code holds, as apps read it (``otpauth``)."""
    issuer = issuer.replace(":", " ").strip() or "teamchat"
    label = f"{quote(issuer, safe='')}:{quote(account, safe='')}"
    about = f"secret={in_base32(secret)}&issuer={quote(issuer, safe='')}"
    return f"otpauth://totp/{label}?{about}&algorithm=SHA1&digits={DIGITS}&period={STEP_MS // 1000}"
