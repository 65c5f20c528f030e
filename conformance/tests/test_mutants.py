"""Each mutant is caught by the checks that are there for it, and by no others.

The mutants of a group are played at the same time, for some of them are waited for.
"""

from __future__ import annotations

from functools import partial

import pytest
import trio

from conformance.tests.mutants import GROUPS, Mutant
from conformance.tests.support import failed, fits, only, played
from teamchat_conformance.runner import Options

_AT_ONCE = 8
_OPTIONS = Options(seed=1, examples=8, steps=20)


@pytest.mark.parametrize("group", GROUPS)
async def test_every_mutant_fails_the_checks_that_are_there_for_it_and_no_others(group: str) -> None:
    wrong: dict[str, object] = {}
    limit = trio.CapacityLimiter(_AT_ONCE)
    async with trio.open_nursery() as nursery:
        for mutant in GROUPS[group]:
            nursery.start_soon(partial(_play, mutant, wrong, limit))
    assert wrong == {}


async def _play(mutant: Mutant, wrong: dict[str, object], limit: trio.CapacityLimiter) -> None:
    """Play one mutant, and say what is wrong with what was found."""
    async with limit:
        registry = only((*mutant.fails, *mutant.beside))
        result = await played(mutant.world, registry=registry, mutations=mutant.faults, options=_OPTIONS)
    found = failed(result)
    if missed := set(mutant.fails) - found.keys():
        wrong[f"{mutant.fault}: not caught"] = {id: result.findings.get(id) for id in missed}
    others = {id: said for id, said in found.items() if not fits(id, (*mutant.fails, *mutant.also))}
    if others:
        wrong[f"{mutant.fault}: others failed too"] = others
