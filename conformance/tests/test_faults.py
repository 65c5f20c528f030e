"""Each fault of a real server is named by the checks that are there for it; without one they find none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pytest
import trio

from conformance.tests.faults import CASES
from conformance.tests.faults.case import Case
from conformance.tests.servers import Running, only, played, running
from teamchat_conformance.registry import load
from teamchat_conformance.runner import Result
from teamchat_conformance.verdicts import Finding

_AT_ONCE = 4
_SERVERS = 2
_SECONDS = 180.0

Played = dict[str, Result | Exception]
"""What came of each case, or why nothing did."""


def _without_fault(cases: Iterable[Case], *, quick: bool = False) -> Case:
    chosen = [case for case in cases if case.quick or not quick]
    ids = dict.fromkeys(id for case in chosen for id in (*case.checks, *case.beside))
    return Case((), tuple(ids), kind=chosen[0].kind, alone=True, quick=quick)


KINDS = sorted({case.kind for case in CASES.values()})
CONTROLS = {
    "no fault, quick": _without_fault(CASES.values(), quick=True),
    **{
        f"no fault, {kind}": _without_fault(case for case in CASES.values() if case.kind == kind)
        for kind in KINDS
    },
}
"""The checks of all cases of a kind, on a server without a fault."""


def _each_of(cases: dict[str, Case]) -> list[object]:
    return [
        pytest.param(name, marks=[] if case.quick else [pytest.mark.slow]) for name, case in cases.items()
    ]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Played:
    """What was found in each case whose test is to run; a server of each kind is started once for them."""
    asked = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    everything = {**CASES, **CONTROLS}
    return trio.run(_play_all, {name: case for name, case in everything.items() if name in asked})


@pytest.mark.slow
@pytest.mark.parametrize("name", _each_of(CASES))
def test_a_fault_is_named_by_the_checks_that_are_there_for_it(results: Played, name: str) -> None:
    found = findings(results, name)
    outcomes = {id: found[id] for id in CASES[name].checks}
    assert {id: (one.outcome, one.message) for id, one in outcomes.items() if one.outcome != "fail"} == {}


@pytest.mark.parametrize("name", _each_of(CASES))
def test_no_fault_of_a_server_makes_one_of_the_suite(results: Played, name: str) -> None:
    found = findings(results, name).values()
    assert {one.id: one.message for one in found if "fault of the suite" in one.message} == {}


@pytest.mark.parametrize("name", _each_of(CONTROLS))
def test_without_a_fault_the_same_checks_find_none(results: Played, name: str) -> None:
    found = findings(results, name)
    assert {id: (one.outcome, one.message) for id, one in found.items() if one.outcome in _BAD} == {}
    undecided = [id for id in CONTROLS[name].checks if found[id].outcome in ("skipped", "not-exercised")]
    assert undecided == []


_BAD = ("fail", "error", "blocked")


def test_every_check_of_a_capability_is_failed_by_a_fault() -> None:
    checks = {id for id, one in load().checks.items() if one.capability and one.level != "recorded"}
    assert checks - {id for case in CASES.values() for id in case.checks} == set()


def test_there_are_at_least_sixty_faults() -> None:
    assert len({fault.name for case in CASES.values() for fault in case.faults}) >= 60


def findings(results: Played, name: str) -> dict[str, Finding]:
    result = results[name]
    if isinstance(result, Exception):
        raise result
    return result.findings


async def _play_all(cases: dict[str, Case]) -> Played:
    results: Played = {}
    servers = trio.CapacityLimiter(_SERVERS)
    async with trio.open_nursery() as nursery:
        for kind in KINDS:
            own = {name: case for name, case in cases.items() if case.kind == kind}
            nursery.start_soon(_play_kind, kind, own, servers, results)
    return results


async def _play_kind(
    kind: str, cases: dict[str, Case], servers: trio.CapacityLimiter, results: Played
) -> None:
    limit = trio.CapacityLimiter(_AT_ONCE)
    async with servers:
        for name, case in cases.items():
            if case.alone:
                async with running(kind) as server:
                    await _play(server, name, case, limit, results)
        together = {name: case for name, case in cases.items() if not case.alone}
        if not together:
            return
        async with running(kind) as server, trio.open_nursery() as nursery:
            for name, case in together.items():
                nursery.start_soon(partial(_play, server, name, case, limit, results))


async def _play(server: Running, name: str, case: Case, limit: trio.CapacityLimiter, results: Played) -> None:
    async with limit:
        try:
            with trio.fail_after(_SECONDS):
                registry = only((*case.checks, *case.beside))
                results[name] = await played(server, registry, case.faults, alone=case.alone)
        except Exception as error:
            results[name] = error
