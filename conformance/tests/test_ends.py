"""A server that ends in the middle of a run, or has but a part of the interface, is told of as that."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio

from conformance.tests.proxy import Answer, Ask, Fault, Forward, Proxy
from conformance.tests.proxy.asking import refused
from conformance.tests.servers import OPTIONS, only, running
from teamchat_conformance.instance import Timing
from teamchat_conformance.runner import Result, play_all


def ending_at(route: str) -> list[Fault]:
    """Return faults of a server that answers nothing more once it was asked for this."""
    ended = False

    async def end(ask: Ask, forward: Forward) -> Answer:
        nonlocal ended
        ended = True
        raise trio.BrokenResourceError

    async def say_nothing(ask: Ask, forward: Forward) -> Answer:
        if ended:
            raise trio.BrokenResourceError
        return await forward(ask)

    return [Fault("nothing is answered any more", "*", say_nothing), Fault("the end", route, end)]


async def absent(ask: Ask, forward: Forward) -> Answer:
    return refused(404)


def without_threads_and_webhooks() -> list[Fault]:
    paths = ("/webhooks", "/webhooks/:webhookId", "/messages/:messageId/thread")
    return [Fault(f"no {path}", f"* {path}", absent) for path in paths]


async def play(faults: list[Fault], *ids: str, factor: float = 1.0) -> Result:
    async with running("dev") as server, Proxy.serving(server.instance.base_url, faults) as proxy:
        instance = replace(server.instance.at(proxy.base_url), timing=Timing(factor=factor))
        return await play_all(only(ids), instance, OPTIONS)


@pytest.mark.slow
async def test_what_a_server_that_has_ended_could_not_show_is_blocked_by_its_end() -> None:
    result = await play(
        ending_at("PUT /channels/:channelId"),
        "AUTH-ME-02", "CHAN-UPD-01", "MSG-NEW-01", "NEG-BODY-01", "NEG-ALIVE-01",
        factor=0.1,
    )  # fmt: skip
    found = result.findings
    assert found["AUTH-ME-02"].outcome == "pass"
    assert found["NEG-ALIVE-01"].outcome == "fail"
    said = found["NEG-ALIVE-01"].message
    assert said.startswith("nothing answers any more; the last answer was to ")
    assert ", in CHAN/" in said
    for id in ("MSG-NEW-01", "NEG-BODY-01"):
        assert (found[id].outcome, found[id].message) == ("blocked", said)


@pytest.mark.slow
async def test_a_part_that_is_not_there_does_not_keep_the_others_from_being_looked_at() -> None:
    result = await play(without_threads_and_webhooks(), "AUTH-REQ-11", "AUTH-ADM-07", "AUTH-ADM-08")
    ids = [id for id in result.findings if id.startswith(("AUTH-REQ", "AUTH-ADM"))]
    assert {id: result.findings[id].outcome for id in ids if result.findings[id].outcome == "blocked"} == {}
    assert result.findings["AUTH-ADM-07"].outcome == "pass"
    assert result.findings["AUTH-ADM-08"].message.startswith("GET /webhooks by user U: expected 403; got 404")
