"""Fifty first sign-ins of one person at once, at both servers and in every way, make one account."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import trio

from teamchat.testing import Provider, mailed
from teamchat.testing.provider import provider
from tests.two_servers.nodes import Node, Pair, fresh_address, pair
from tests.two_servers.test_links import password_login, token_in, verified

pytestmark = pytest.mark.slow

JANE, PASSWORD = "jane@example.org", "the stranger's password"
PROVIDERS = ("acme", "beta")


def sections(idp: Provider) -> dict[str, Any]:
    custom = [
        {
            "id": name,
            "name": name,
            "authorizationUrl": idp.authorization_url,
            "tokenUrl": idp.token_url,
            "userInfoUrl": idp.user_info_url,
            "clientId": idp.client_id,
            "clientSecret": idp.client_secret,
        }
        for name in PROVIDERS
    ]
    return {"oauth": {"custom": custom}}


async def callbacks(nodes: Pair, idp: Provider, count: int) -> list[tuple[httpx2.AsyncClient, str]]:
    """Begin so many sign-ins, and return which browser is to go where to end them."""
    begun = []
    for number in range(count):
        node = (nodes.a, nodes.b)[number % 2]
        browser = node.client(address=fresh_address())
        answer = await browser.get(f"/auth/oauth/{PROVIDERS[number // 2 % 2]}")
        assert answer.status_code == 302, answer.text
        back = urlsplit(idp.approve(answer.headers["Location"]))
        begun.append((browser, f"{back.path}?{back.query}"))
    return begun


async def end(ways: list[str], browser: httpx2.AsyncClient, callback: str) -> None:
    answer = await browser.get(callback)
    told = parse_qs(urlsplit(answer.headers["Location"]).query)
    ways.append(told.get("oauth_error", ["signed in"])[0])


async def check_one_account(nodes: Pair) -> None:
    async with nodes.opened() as storage, storage.read() as tx:
        assert await tx.fetch("select count(*) from users where email_key = $1", JANE) == [(1,)]
        identities = await tx.fetch("select count(distinct user_id), count(*) from identities")
        assert identities == [(1, len(PROVIDERS))]
        [(sessions,)] = await tx.fetch(
            "select count(*) from sessions s join users u on u.id = s.user_id where u.email_key = $1", JANE
        )
        assert 1 <= sessions <= 3
        events = await tx.fetch("select payload from events where type = 'NEW_USER'")
        assert sum(JANE in payload for (payload,) in events) == 1
    for node in (nodes.a, nodes.b):
        assert '"level":"error"' not in node.log.read_text().lower().replace(" ", "")


async def test_by_registering_and_at_two_providers_at_once(storage_kind: str, tmp_path: Path) -> None:
    auth = {"authMode": "password", "isInviteRequired": False}
    async with provider() as idp:
        with pair(storage_kind, tmp_path, auth=auth, **sections(idp)) as nodes:
            begun = await callbacks(nodes, idp, 40)
            ways: list[str] = []
            registered: list[int] = []

            async def register(node: Node) -> None:
                async with node.client(address=fresh_address()) as client:
                    body = {"email": JANE, "password": PASSWORD}
                    registered.append((await client.post("/auth/register", json=body)).status_code)

            async with trio.open_nursery() as nursery:
                for number, (browser, callback) in enumerate(begun):
                    nursery.start_soon(end, ways, browser, callback)
                    if number % 4 == 0:
                        nursery.start_soon(register, (nodes.a, nodes.b)[number // 4 % 2])
            assert Counter(ways) == {"signed in": 40}
            assert set(registered) <= {200, 400, 429}
            assert registered.count(200) <= 1
            answer = await password_login(nodes.a, JANE, PASSWORD)
            assert answer.status_code == 401, "D-40: whoever registered has lost it"
            await check_one_account(nodes)


async def test_by_one_link_and_at_two_providers_at_once(storage_kind: str, tmp_path: Path) -> None:
    auth = {"authMode": "magic-link", "isInviteRequired": False}
    email = {"backend": "files", "path": str(tmp_path / "mails"), "sender": "chat@example.org"}
    async with provider() as idp:
        with pair(storage_kind, tmp_path, auth=auth, email=email, **sections(idp)) as nodes:
            async with nodes.a.client() as client:
                await client.post("/auth/login", json={"email": JANE})
            token = token_in((await mailed(nodes.mails, JANE)).link)
            begun = await callbacks(nodes, idp, 20)
            ways: list[str] = []
            by_link: list[int] = []

            async def verify(node: Node) -> None:
                by_link.append(await verified(node, JANE, token))

            async with trio.open_nursery() as nursery:
                for browser, callback in begun:
                    nursery.start_soon(end, ways, browser, callback)
                for number in range(30):
                    nursery.start_soon(verify, (nodes.a, nodes.b)[number % 2])
            assert Counter(ways) == {"signed in": 20}
            assert set(by_link) <= {200, 400, 429}
            assert by_link.count(200) == 1
            await check_one_account(nodes)
