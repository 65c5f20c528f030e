"""A sign-in by OpenID Connect that begins at one server and ends at the other, and the end of its session."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest
import trio

from teamchat.testing import listening
from teamchat.testing.provider import provider
from tests.two_servers.nodes import fresh_address, pair
from tests.two_servers.test_sessions import ended

pytestmark = pytest.mark.slow

_idp = import_module("plugins.teamchat-oidc.tests.idp")
CALLBACK = "/auth/oauth/company/callback"
LOGOUT = "/auth/oauth/company/backchannel-logout"


async def come_back(browser: httpx2.AsyncClient, base: str, state: str) -> dict[str, str]:
    """Come back to a server with a code, and return what the application is told."""
    answer = await browser.get(base + CALLBACK, params={"state": state, "code": "a-code"})
    assert answer.status_code == 302
    return dict(parse_qsl(urlsplit(answer.headers["Location"]).query))


async def test_a_sign_in_begun_at_one_server_ends_at_the_other_and_its_end_is_said_to_either(
    storage_kind: str, tmp_path: Path
) -> None:
    async with provider() as server:
        idp = _idp.Idp(server)
        idp.publish()
        company = {
            "id": "company",
            "name": "Company",
            "issuer": idp.issuer,
            "clientId": _idp.CLIENT,
            "clientSecret": _idp.SECRET,
        }
        with ExitStack() as stack:
            servers = pair(storage_kind, tmp_path, oauth={"oidc": [company]})
            # They ask the provider as they start, which is of this thread.
            nodes = await trio.to_thread.run_sync(stack.enter_context, servers)
            browser = nodes.a.client(address=fresh_address())
            begun = await browser.get("/auth/oauth/company")
            asked = {name: one for name, [one] in parse_qs(urlsplit(begun.headers["Location"]).query).items()}
            given = {"access_token": "an-access-token", "token_type": "Bearer"}
            idp.answers("/token", given | {"id_token": idp.id_token(asked["nonce"])})

            told = await come_back(browser, nodes.b.base, asked["state"])
            assert "oauth_error" not in told
            clients = [node.client(told["access_token"]) for node in (nodes.a, nodes.b)]
            for client in clients:
                assert (await client.get("/auth/me")).json()["user"]["email"] == "jane@example.org"
            for node in (nodes.a, nodes.b):
                again = await come_back(browser, node.base, asked["state"])
                assert again == {"oauth_error": "invalid_state"}
            assert server.hits("/token") == 1

            logout = {"logout_token": idp.logout_token(sid="session-1")}
            async with listening(clients[1]) as events:
                answer = await nodes.a.client().post(LOGOUT, data=logout)
                assert answer.status_code == 200
                await ended(events)
            assert [(await client.get("/auth/me")).status_code for client in clients] == [401, 401]
            used = await nodes.b.client().post(LOGOUT, data=logout)
            assert used.status_code == 400, "each logout token is good once, at whichever server"
