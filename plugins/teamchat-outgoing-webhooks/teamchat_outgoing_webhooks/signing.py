"""Headers that let a target know who sent a request, and which one it is (Standard Webhooks 1.0).

The signature is HMAC-SHA256 over ``id.timestamp.body``; the id is the event's number, the same at every try,
so that a target can leave out what it has had.
"""

from __future__ import annotations

import base64
import hmac
import time


def headers(secret: str, message_id: str, body: bytes, now: float | None = None) -> dict[str, str]:
    """Return the headers of a request. `now` is in seconds since the epoch."""
    timestamp = str(int(time.time() if now is None else now))
    signed = f"{message_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(secret.encode(), signed, "sha256")).decode()
    return {
        "Content-Type": "application/json",
        "Webhook-Id": message_id,
        "Webhook-Timestamp": timestamp,
        "Webhook-Signature": f"v1,{signature}",
    }
