"""The signature of requests, AWS Signature Version 4, in headers."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote

EMPTY = hashlib.sha256(b"").hexdigest()
_ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(NamedTuple):
    """Who asks; `token` is that of a session, if it is one."""

    key_id: str
    secret: str
    token: str | None
    region: str

    def __repr__(self) -> str:
        return f"Credentials({self.key_id!r}, region={self.region!r})"


def query_of(parameters: dict[str, str]) -> str:
    """Return a query as it is signed and sent: sorted, every other character escaped."""
    return "&".join(
        f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(parameters.items())
    )


def signed(
    credentials: Credentials,
    method: str,
    host: str,
    path: str,
    query: str,
    headers: dict[str, str],
    digest: str,
    now: datetime | None = None,
) -> dict[str, str]:
    """Return the headers of a request with its signature. `digest` is the SHA-256 of its body."""
    at = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    all_headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": at} | headers
    if credentials.token is not None:
        all_headers["x-amz-security-token"] = credentials.token
    names = ";".join(sorted(all_headers))
    canonical = "\n".join(
        [
            method,
            quote(path, safe="/~"),
            query,
            *(f"{name}:{all_headers[name].strip()}" for name in sorted(all_headers)),
            "",
            names,
            digest,
        ]
    )
    scope = f"{at[:8]}/{credentials.region}/s3/aws4_request"
    text = "\n".join([_ALGORITHM, at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret}".encode()
    for part in (at[:8], credentials.region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    said = (
        f"{_ALGORITHM} Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return all_headers | {"authorization": said}
