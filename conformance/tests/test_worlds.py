"""The fake conforms in every sign-in mode; one that decides otherwise fails only what a decision demands."""

from __future__ import annotations

import re

import pytest

from conformance.tests.support import failed, failed_required, fits
from conformance.tests.worlds import AGELESS, HEAVY, WORLDS
from teamchat_conformance.registry import load
from teamchat_conformance.runner import Result

_DECISION = re.compile(r"\bD-\d{2}")
FAITHFUL = [world.name for world in WORLDS if not world.contrary]
CONTRARY = [world.name for world in WORLDS if world.contrary]


@pytest.mark.parametrize("world", FAITHFUL)
def test_the_fake_passes_all_required_checks(results: dict[str, Result], world: str) -> None:
    assert failed_required(results[world]) == {}


@pytest.mark.parametrize("world", CONTRARY)
def test_a_contrarian_fails_only_the_decisions_that_are_as_binding_as_the_specification(
    results: dict[str, Result], world: str
) -> None:
    checks = load().checks
    failed = failed_required(results[world])
    assert {id: said for id, said in failed.items() if not _DECISION.search(checks[id].spec)} == {}


@pytest.mark.parametrize("world", FAITHFUL + CONTRARY)
def test_everything_made_is_undone(results: dict[str, Result], world: str) -> None:
    assert results[world].left_over == []


@pytest.mark.parametrize("world", FAITHFUL + CONTRARY)
def test_no_run_shows_a_fault_of_the_suite(results: dict[str, Result], world: str) -> None:
    found = results[world].findings.values()
    assert {one.id: one.message for one in found if one.outcome == "error"} == {}


def test_a_contrarian_is_told_what_it_decides_otherwise(results: dict[str, Result]) -> None:
    found = results["dev open, contrary"]
    levels = {load().checks[id].level for id in failed(found)}
    noted = {one.id for one in found.findings.values() if one.outcome == "note"}
    assert levels == {"recommended", "required"}
    assert {"MSG-PAGE-03", "CHAN-DEL-02", "THR-NEW-10", "CONV-MSG-03", "IMG-DM-03"} <= noted
    assert {"CHAN-NEW-04", "MSG-PAGE-09", "IMG-GET-12", "CONV-NEW-08"} <= failed(found).keys()


def test_the_worlds_together_decide_nearly_every_required_check(results: dict[str, Result]) -> None:
    decided = {
        one.id
        for result in results.values()
        for one in result.findings.values()
        if one.outcome in ("pass", "note", "recorded")
    }
    left_out = {
        check.id for check in load().checks.values() if check.level == "required" and check.id not in decided
    }
    assert sorted(id for id in left_out if not _cannot_be_played_here(id)) == []


def _cannot_be_played_here(id: str) -> bool:
    """Tell whether a check needs a server that the suite starts, or real providers, or time, or load."""
    needs = set(load().checks[id].needs)
    for play in load().plays():
        needs |= set(play.needs) if id in play.ids else set()
    return (
        id in ("OAUTH-START-07", "SESS-LIM-08") or fits(id, HEAVY) or bool(needs & {"launch", "slow", "load"})
    )


def test_tokens_that_never_end_are_noticed(results: dict[str, Result]) -> None:
    assert {"SESS-REF-07", "SESS-LIFE-02"} <= failed(results[AGELESS.name]).keys()
