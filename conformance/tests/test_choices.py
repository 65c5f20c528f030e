"""A server that decides otherwise where the contract leaves a choice fails nothing that is required."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.faults.choices import CHOICES, MADE
from conformance.tests.proxy import Proxy
from conformance.tests.servers import Running, running
from teamchat_conformance.registry import Level, Registry, load
from teamchat_conformance.runner import Options, Result, play_all
from teamchat_conformance.verdicts import Outcome

_SAME_HOWEVER_IT_IS_MADE = ("NEG-*", "PROP-*", "SSE-LIFE-*", "SSE-RESUME-0[1235]", "SSE-TIME-*")
_ENDS_SESSIONS = {"sessions are a bare array", "ending sessions says nothing"}
"""Asked for only where one signs in by more than an address."""


async def play(server: Running, options: Options, registry: Registry) -> tuple[Result, set[str]]:
    """Return what is found in a server that decides otherwise, and the choices that were met."""
    async with Proxy.serving(server.instance.base_url, CHOICES) as proxy:
        instance = replace(server.instance.at(proxy.base_url), admin=server.instance.admin)
        return await play_all(registry, instance, options), proxy.kept[MADE]


def of(result: Result, registry: Registry, outcome: Outcome, level: Level | None = None) -> dict[str, str]:
    return {
        one.id: one.message
        for one in result.findings.values()
        if one.outcome == outcome and level in (None, registry.checks[one.id].level)
    }


@pytest.mark.slow
async def test_posting_and_reading_otherwise_is_noted_and_no_failure() -> None:
    registry = load()
    async with running("dev") as server:
        result, _ = await play(
            server, Options(select=("MSG-EDIT-*", "MSG-LIST-*", "MSG-FORM-*", "CONV-MSG-*"), seed=1), registry
        )
    assert of(result, registry, "fail", "required") == {}
    assert {"MSG-EDIT-03", "MSG-FORM-05", "CONV-MSG-03"} <= of(result, registry, "note").keys()


@pytest.mark.slow
async def test_every_choice_is_met_and_none_is_a_failure_of_what_is_required() -> None:
    registry = load()
    # What a server may choose is the core's; capabilities say more strictly what they answer.
    of_capabilities = tuple(id for id, check in registry.checks.items() if check.capability)
    options = Options(skip=(*_SAME_HOWEVER_IT_IS_MADE, *of_capabilities), seed=1)
    async with running("dev") as server:
        result, made = await play(server, options, registry)
    assert of(result, registry, "fail", "required") == {}
    assert of(result, registry, "error") == {}
    assert of(result, registry, "blocked") == {}
    assert result.left_over == []
    assert {choice.name for choice in CHOICES if choice.handle} - made == _ENDS_SESSIONS
    noted = of(result, registry, "note").keys()
    assert {"GEN-HLTH-02", "DEV-06", "IMG-UP-17", "THR-NEW-10", "HOOK-POST-05"} - noted == set()
    warned = of(result, registry, "fail").keys()
    assert {"MSG-IDEM-01", "IMG-GET-12", "CONV-LIST-06", "SSE-FRAME-13"} - warned == set()


@pytest.mark.slow
async def test_sessions_that_are_told_otherwise_are_no_failure_of_what_is_required() -> None:
    registry = load()
    async with running("password") as server:
        result, made = await play(server, Options(areas=("SESS", "AUTH"), seed=1), registry)
    assert of(result, registry, "fail", "required") == {}
    assert of(result, registry, "error") == {}
    assert made >= _ENDS_SESSIONS
