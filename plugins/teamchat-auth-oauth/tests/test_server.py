"""Sign-in at a provider with a real server in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from teamchat.testing import ADMIN, Provider, Server
from tests.harness import running

MODES = ["native", "hypercorn"]


def keys(idp: Provider, **more: Any) -> dict[str, Any]:
    return {
        "id": "acme",
        "name": "Acme",
        "authorizationUrl": idp.authorization_url,
        "tokenUrl": idp.token_url,
        "userInfoUrl": idp.user_info_url,
        "clientId": idp.client_id,
        "clientSecret": idp.client_secret,
        **more,
    }


async def sign_in(server: Server, idp: Provider) -> httpx2.Response:
    """Go through a sign-in as a browser does, which keeps cookies."""
    async with server.client() as browser:
        [button] = (await browser.get("/auth/oauth/providers")).json()["providers"]
        start = await browser.get(button["loginUrl"])
        assert start.status_code == 302, start.text
        approved = await browser.get(start.headers["location"])
        back = urlsplit(approved.headers["location"])
        return await browser.get(f"{back.path}?{back.query}")


@pytest.mark.slow
@pytest.mark.parametrize("http1", MODES)
async def test_a_sign_in_from_button_to_session(tmp_path: Path, idp: Provider, http1: str) -> None:
    idp.profile = {"sub": "1", "email": ADMIN, "email_verified": True}
    sections = {"oauth": {"custom": [keys(idp, isEmailTrusted=True)]}, "server": {"http1": http1}}
    async with running(tmp_path, **sections) as server:
        answer = await sign_in(server, idp)
        location = urlsplit(answer.headers["location"])
        assert (answer.status_code, location.netloc, location.path) == (302, "localhost:3000", "/")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        tokens = {name: values[0] for name, values in parse_qs(location.query).items()}
        async with server.client(tokens["access_token"]) as client:
            me = (await client.get("/auth/me")).json()["user"]
        assert (me["userName"], me["isAdmin"]) == ("Ada", True)
        assert idp.hits("/token") == 1
        assert await server.end() == 0


async def test_without_a_provider_the_server_has_no_such_endpoint(tmp_path: Path) -> None:
    async with running(tmp_path) as server, server.client() as client:
        assert (await client.get("/auth/oauth/providers")).status_code == 404
