"""A clock that is set while a server runs, forward and back, harms no message and no stream."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from teamchat.testing import Server, listening
from tests.harness import running

DAY, HOUR = 86_400, 3_600
# Python reads this module at every start, so the workers' clocks go with the server's.
SITE = """
import os, time

real_ns, real = time.time_ns, time.time

def ahead():
    with open(os.environ["CLOCK_AHEAD"]) as file:
        return int(file.read())

time.time_ns = lambda: real_ns() + ahead() * 10**9
time.time = lambda: real() + ahead()
"""


# Processes follow each other's clocks for a day; what is further ahead was brought in so (ids.new_id_after).
@pytest.mark.slow
@pytest.mark.parametrize(("workers", "step"), [(1, DAY), (2, 2 * HOUR)])
async def test_messages_keep_their_order_and_streams_go_on_when_the_clock_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, step: int
) -> None:
    clock = tmp_path / "ahead"
    (tmp_path / "sitecustomize.py").write_text(SITE)
    clock.write_text("0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CLOCK_AHEAD", str(clock))
    async with running(tmp_path, server={"workers": workers}) as server, await server.sign_in() as ada:
        path = f"/channels/{(await ada.get('/channels')).json()['channels'][0]['id']}/messages"
        posted: list[str] = []
        async with listening(ada) as events:
            for ahead in (0, 3 * step, -4 * step, 5 * step, 0):
                clock.write_text(str(ahead))
                posted += await posts(server, path)
            heard = [(await events.until("NEW_MESSAGE"))["content"] for _ in posted]
        assert heard == posted
        async with await server.sign_in() as again:
            read = (await again.get(path, params={"limit": 200})).json()["messages"]
        assert [message["content"] for message in read] == posted
        assert "unexpected" not in server.logged()


async def posts(server: Server, path: str) -> list[str]:
    """Post some messages by somebody who signs in now, and return what they said."""
    async with await server.sign_in() as client:
        answers: list[httpx2.Response] = [
            await client.post(path, json={"content": f"{client.headers['Authorization'][-9:]} {number}"})
            for number in range(10)
        ]
    assert [answer.status_code for answer in answers] == [200] * 10
    return [answer.json()["message"]["content"] for answer in answers]
