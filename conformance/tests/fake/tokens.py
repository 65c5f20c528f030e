"""Access tokens: JSON Web Tokens, signed with HMAC (RFC 7515, RFC 7519)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

_HASHES = {"HS256": hashlib.sha256, "HS512": hashlib.sha512}


def sign(claims: dict[str, Any], secret: str, algorithm: str = "HS256") -> str:
    """Return a token."""
    head = _part({"alg": algorithm, "typ": "JWT"}) + "." + _part(claims)
    return head + "." + _encoded(_mac(head, secret, algorithm))


def claims_of(token: str, secret: str, *, unchecked: bool = False) -> dict[str, Any] | None:
    """Return the claims of a token, or None if it isn't ours."""
    try:
        head, body, signature = token.split(".")
        header = json.loads(_decoded(head))
        algorithm = header.get("alg")
        if not unchecked:
            if algorithm not in _HASHES:
                return None
            if not hmac.compare_digest(_encoded(_mac(f"{head}.{body}", secret, algorithm)), signature):
                return None
        claims = json.loads(_decoded(body))
        return claims if isinstance(claims, dict) and {"sub", "exp"} <= claims.keys() else None
    except (ValueError, AttributeError, TypeError):
        return None


def _mac(text: str, secret: str, algorithm: str) -> bytes:
    return hmac.new(secret.encode(), text.encode(), _HASHES[algorithm]).digest()


def _part(value: dict[str, Any]) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
