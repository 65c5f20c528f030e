"""ID tokens: who signed in, as OpenID Connect tells it (Core, section 3.1.3.7).

The token comes straight from the token endpoint over TLS, which proves who made it, so its signature need
not be checked (item 6 there).  That it was made for this client, for this sign-in, and lately, must be.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

import msgspec
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]

from teamchat_auth_oauth.failures import ProviderFailed

LEEWAY_SECONDS = 60


def read(
    id_token: object, *, client_id: str, issuer: str | None, nonce: str, now_seconds: int
) -> Mapping[str, Any]:
    """Return the claims of an ID token. Any exception means that it can't be believed."""
    payload = _payload(id_token)
    rules: dict[str, Any] = {"aud": {"essential": True, "value": client_id}}
    if issuer is not None:
        rules["iss"] = {"essential": True, "value": issuer}
    claims = CodeIDToken(payload, {}, rules, {"client_id": client_id, "nonce": nonce})
    claims.validate(now_seconds, LEEWAY_SECONDS)
    return payload


def _payload(id_token: object) -> dict[str, Any]:
    parts = id_token.split(".") if isinstance(id_token, str) else []
    if len(parts) != 3:
        raise ProviderFailed("an ID token that is none")
    payload = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
    return msgspec.json.decode(payload, type=dict[str, Any])
