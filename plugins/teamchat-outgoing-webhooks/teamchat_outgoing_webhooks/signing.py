"""Headers that let a target know who sent a request, and which one it is (Standard Webhooks 1.0).

The signature is HMAC-SHA256 over ``id.timestamp.body``; the id is the event's number, the same at every try,
so that a target can leave out what it has had.  A secret that begins with ``whsec_`` is the key in base64, as
the standard's libraries take it; of any other the characters themselves are the key.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time

SERIALISED = "whsec_"


def key(secret: str) -> bytes:
    """Return the bytes to sign with. Raises `ValueError` if a serialised secret is no base64."""
    if not secret.startswith(SERIALISED):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(SERIALISED), validate=True)
    except binascii.Error:
        raise ValueError("no base64") from None


def headers(secret: str, message_id: str, body: bytes, now: float | None = None) -> dict[str, str]:
    """Return the headers of a request. `now` is in seconds since the epoch."""
    timestamp = str(int(time.time() if now is None else now))
    signed = f"{message_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key(secret), signed, "sha256")).decode()
    return {
        "Content-Type": "application/json",
        "Webhook-Id": message_id,
        "Webhook-Timestamp": timestamp,
        "Webhook-Signature": f"v1,{signature}",
    }
