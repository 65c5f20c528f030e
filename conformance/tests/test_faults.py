"""Each fault of a real server is named by the checks that are there for it; without one they find none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pytest
import trio

from conformance.tests.faults import CASES
from conformance.tests.faults.case import Case
from conformance.tests.servers import Running, only, played, running
from teamchat_conformance.runner import Result
from teamchat_conformance.verdicts import Finding

_AT_ONCE = 4
_SERVERS = 2
_SECONDS = 180.0
_TRIES = 2  # on a busy machine an exchange may be cut short before the fault shows
_WITHOUT = "no fault"

Played = dict[str, Result | Exception]
"""What came of each case, or why nothing did."""


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Played:
    """What was found in each case whose test is to run; a server of each kind is started once."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    names = {params["name"] for params in asked if "name" in params}
    kinds = {params["kind"] for params in asked if "kind" in params}
    return trio.run(_play_all, {name: CASES[name] for name in CASES if name in names}, kinds)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if case.slow else []) for name, case in CASES.items()],
)
def test_a_fault_is_named_by_the_checks_that_are_there_for_it(results: Played, name: str) -> None:
    found = findings(results, name)
    outcomes = {id: found[id] for id in CASES[name].checks}
    assert {id: (one.outcome, one.message) for id, one in outcomes.items() if one.outcome != "fail"} == {}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if case.slow else []) for name, case in CASES.items()],
)
def test_no_fault_of_a_server_makes_one_of_the_suite(results: Played, name: str) -> None:
    found = findings(results, name).values()
    assert {one.id: one.message for one in found if "fault of the suite" in one.message} == {}


@pytest.mark.parametrize("kind", sorted({case.kind for case in CASES.values()}))
def test_without_a_fault_the_same_checks_find_none(results: Played, kind: str) -> None:
    found = findings(results, f"{_WITHOUT}, {kind}").values()
    assert {one.id: one.message for one in found if one.outcome in ("fail", "error", "blocked")} == {}


def test_there_are_at_least_sixty_faults() -> None:
    assert len({fault.name for case in CASES.values() for fault in case.faults}) >= 60


def findings(results: Played, name: str) -> dict[str, Finding]:
    result = results[name]
    if isinstance(result, Exception):
        raise result
    return result.findings


async def _play_all(cases: dict[str, Case], kinds: Iterable[str]) -> Played:
    results: Played = {}
    servers = trio.CapacityLimiter(_SERVERS)
    async with trio.open_nursery() as nursery:
        for kind in sorted({*kinds, *(case.kind for case in cases.values())}):
            own = {name: case for name, case in cases.items() if case.kind == kind}
            nursery.start_soon(_play_kind, kind, own, kind in set(kinds), servers, results)
    return results


async def _play_kind(
    kind: str, cases: dict[str, Case], without: bool, servers: trio.CapacityLimiter, results: Played
) -> None:
    limit = trio.CapacityLimiter(_AT_ONCE)
    async with servers:
        for name, case in cases.items():
            if case.alone:
                async with running(kind) as server:
                    await _play(server, name, case, limit, results)
        async with running(kind) as server, trio.open_nursery() as nursery:
            for name, case in cases.items():
                if not case.alone:
                    nursery.start_soon(partial(_play, server, name, case, limit, results))
        if not without:
            return
        async with running(kind) as server:
            ids = {id for case in CASES.values() if case.kind == kind and not case.slow for id in case.checks}
            results[f"{_WITHOUT}, {kind}"] = await played(server, only(ids))


async def _play(server: Running, name: str, case: Case, limit: trio.CapacityLimiter, results: Played) -> None:
    async with limit:
        try:
            for _ in range(_TRIES):
                with trio.fail_after(_SECONDS):
                    result = await played(server, only((*case.checks, *case.beside)), case.faults)
                results[name] = result
                if all(result.findings[id].outcome == "fail" for id in case.checks):
                    break
        except Exception as error:
            results[name] = error
