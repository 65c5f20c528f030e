"""A sign-in at a provider that begins at one server and ends at the other (decision D-20)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from teamchat.testing.provider import provider
from tests.two_servers.nodes import fresh_address, pair

pytestmark = pytest.mark.slow


async def test_a_sign_in_begun_at_one_server_ends_at_the_other_once(
    storage_kind: str, tmp_path: Path
) -> None:
    async with provider() as idp:
        custom = {
            "id": "acme",
            "name": "Acme",
            "authorizationUrl": idp.authorization_url,
            "tokenUrl": idp.token_url,
            "userInfoUrl": idp.user_info_url,
            "clientId": idp.client_id,
            "clientSecret": idp.client_secret,
        }
        with pair(storage_kind, tmp_path, oauth={"custom": [custom]}) as nodes:
            browser = nodes.a.client(address=fresh_address())
            begun = await browser.get("/auth/oauth/acme")
            assert begun.status_code == 302
            back = urlsplit(idp.approve(begun.headers["Location"]))
            callback = f"{back.path}?{back.query}"

            ended = await browser.get(nodes.b.base + callback)
            query = dict(part.split("=", 1) for part in urlsplit(ended.headers["Location"]).query.split("&"))
            assert "oauth_error" not in query
            for node in (nodes.a, nodes.b):
                answer = await node.client(query["access_token"]).get("/auth/me")
                assert answer.json()["user"]["email"] == "jane@example.org"

            for node in (nodes.a, nodes.b):
                again = await browser.get(node.base + callback)
                assert "oauth_error=invalid_state" in again.headers["Location"]
            assert idp.hits("/token") == 1
