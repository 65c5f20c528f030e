"""A caller is asked for again once a body that was on its way has come (decision D-39), and only then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from teamchat.accounts import Accounts
from teamchat.model import Caller
from tests.http1.conftest import connected
from tests.web.held import staged


@pytest.mark.parametrize("comes_late", [False, True], ids=["with its head", "later"])
async def test_a_caller_is_asked_for_again_where_the_body_came_after_the_head_of_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_late: bool
) -> None:
    async with staged(tmp_path) as scene:
        victim = await scene.victim()
        asked: list[str] = []
        ask_again = Accounts.ask_again

        async def noted(accounts: Accounts, caller: Caller) -> Caller:
            asked.append(caller.user.id)
            return await ask_again(accounts, caller)

        monkeypatch.setattr(Accounts, "ask_again", noted)
        body = json.dumps({"content": "hello"}).encode()
        head = (
            f"POST /channels/{scene.channel}/messages HTTP/1.1\r\nHost: test\r\n"
            f"Authorization: Bearer {victim.tokens.access_token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        async with connected(scene.site) as client:
            await client.send(head if comes_late else head + body)
            if comes_late:
                await trio.testing.wait_all_tasks_blocked()
                await client.send(body)
            assert (await client.answer("POST")).status == 200
        assert asked == ([victim.caller.user.id] if comes_late else [])
