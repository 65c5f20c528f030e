"""The README of search: its commands say how far the index is, and have it made anew, beside a server."""

from __future__ import annotations

import trio

from teamchat.testing import DEADLINE
from tests.docs.machine import Machine, say
from tests.docs.pages import blocks

STATUS, REBUILD = blocks("../plugins/teamchat-search/README.md", "sh")


async def test_the_index_is_looked_at_and_made_anew_while_a_server_runs(machine: Machine) -> None:
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        say(ada, "the quick brown fox")
        await _all_indexed(machine)
        machine.types(REBUILD)
        await _all_indexed(machine)
        found = ada.get("/search/messages", params={"q": "quick fox"}).json()["results"]
        assert [one["message"]["content"] for one in found] == ["the quick brown fox"]
        assert server.end() == 0
    assert _is_whole(machine.types(STATUS)), "it is told without a server too"


async def _all_indexed(machine: Machine) -> None:
    with trio.fail_after(DEADLINE):
        while not _is_whole(await trio.to_thread.run_sync(machine.types, STATUS)):
            await trio.lowlevel.checkpoint()


def _is_whole(said: str) -> bool:
    return said.startswith("1 of 1 messages are in the index") and said.count("\n") == 1
