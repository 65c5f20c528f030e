"""What people ask of a server to be let in, for the pages that are about that."""

from __future__ import annotations

from typing import Any

from tests.docs.machine import Running


def post(server: Running, path: str, body: dict[str, str], token: str = "") -> dict[str, Any]:
    """Send a request that must succeed, and return its answer."""
    with server.client(token) as client:
        answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def email_of(server: Running, token: str) -> str:
    """Return whose access token it is."""
    with server.client(token) as client:
        answer = client.get("/auth/me")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["user"]["email"])
