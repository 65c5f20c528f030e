"""A caller is asked for again where a request waited, for its body or for a turn (D-39), and only there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from teamchat.accounts import Accounts
from teamchat.model import Caller
from tests.http1.conftest import connected
from tests.pictures import PNG
from tests.web.scene import staged

MESSAGE = {"content": "hello"}
IMAGE = {"filename": "dot.png", "image": PNG}


@pytest.mark.parametrize(
    ("path", "said", "comes_late", "is_asked"),
    [
        pytest.param("messages", MESSAGE, False, False, id="with its head"),
        pytest.param("messages", MESSAGE, True, True, id="later"),
        pytest.param("messages/image", IMAGE, False, True, id="with its head, and waits for a turn"),
    ],
)
async def test_a_caller_is_asked_for_again_where_the_request_has_waited(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    said: dict[str, str],
    comes_late: bool,
    is_asked: bool,
) -> None:
    async with staged(tmp_path) as scene:
        victim = await scene.victim()
        asked: list[str] = []
        ask_again = Accounts.ask_again

        async def noted(accounts: Accounts, caller: Caller) -> Caller:
            asked.append(caller.user.id)
            return await ask_again(accounts, caller)

        monkeypatch.setattr(Accounts, "ask_again", noted)
        body = json.dumps(said).encode()
        head = (
            f"POST /channels/{scene.channel}/{path} HTTP/1.1\r\nHost: test\r\n"
            f"Authorization: Bearer {victim.tokens.access_token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        async with connected(scene.site) as client:
            await client.send(head if comes_late else head + body)
            if comes_late:
                await trio.testing.wait_all_tasks_blocked()
                await client.send(body)
            assert (await client.answer("POST")).status == 200
        assert asked == ([victim.caller.user.id] if is_asked else [])
