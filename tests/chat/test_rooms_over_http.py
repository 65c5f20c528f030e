"""Channels and their members on a real server: what is asked for by HTTP, and what streams tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2

from teamchat.testing import listening
from tests.harness import running


async def ok(client: httpx2.AsyncClient, method: str, path: str, body: Any = None) -> Any:
    answer = await client.request(method, path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_b10_whose_account_ends_is_removed_by_whoever_ends_it(tmp_path: Path) -> None:
    async with (
        running(tmp_path) as server,
        await server.sign_in() as ada,
        await server.sign_in("bob@example.org") as bob,
        await server.sign_in("eve@example.org") as eve,
    ):
        root, bobs, eves = [(await ok(one, "GET", "/me"))["user"]["id"] for one in (ada, bob, eve)]
        body = {"name": "Secret", "members": [bobs, eves]}
        await ok(ada, "POST", "/private-channels", body)
        async with listening(ada) as heard:
            await ok(ada, "DELETE", f"/users/{bobs}")
            gone = await heard.until("CHANNEL_MEMBER_REMOVED")
            assert (gone["userId"], gone["by"]) == (bobs, root)
            await ok(eve, "POST", "/users/exit")
            gone = await heard.until("CHANNEL_MEMBER_REMOVED")
            assert (gone["userId"], gone["by"]) == (eves, eves)
