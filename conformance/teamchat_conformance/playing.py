"""Plays what the command line asks for: on a server that is there, or on those it starts; and tells of it.

SIGINT and SIGTERM end a run in good order: what was made is removed, what was started is
ended.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import trio

from teamchat_conformance import report
from teamchat_conformance.doctor import Doctor
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.instance import Instance
from teamchat_conformance.judging import CONFORMS, UNREACHABLE, accept, judge
from teamchat_conformance.matrix import Matrix, run_matrix
from teamchat_conformance.probing import detected
from teamchat_conformance.profiles import PROFILES
from teamchat_conformance.registry import Play, Registry
from teamchat_conformance.report import terminal
from teamchat_conformance.runner import Options, Unreachable, play_all
from teamchat_conformance.verdicts import Finding

T = TypeVar("T")


class Interrupted(Exception):
    """Somebody ended the run before its end."""


@dataclass(frozen=True)
class Wishes:
    """How the results of a run are wanted."""

    profiles: tuple[str, ...] = ()
    probe: bool = False
    strict: bool = False
    complete: bool = False
    verbose: bool = False
    report: Path | None = None
    formats: tuple[str, ...] = ()
    colour: bool = False
    say: Callable[[str], object] = sys.stdout.write


async def play(registry: Registry, given: Instance, options: Options, wishes: Wishes) -> int:
    """Play, tell what came of it, and return the exit code. Raises `Unreachable` and `Interrupted`."""
    matrix = await _interruptible(lambda: _matrix(registry, given, options, wishes))
    failures = "".join(f"{profile}: no run could begin. {why}\n" for profile, why in matrix.failures.items())
    if not matrix.results:
        raise Unreachable(failures.strip())
    stale = accept(matrix.results, given.accepted)
    document = report.compose(matrix.results, registry, strict=wishes.strict)
    if wishes.report is not None:
        report.save(document, wishes.report, wishes.formats)
    code, why = judge(document, complete=wishes.strict or wishes.complete)
    wishes.say(failures)
    wishes.say("".join(f"{id} is accepted by the description, and needs no longer be\n" for id in stale))
    wishes.say(f"{why}\n" if why else "")
    wishes.say(terminal.told(document, verbose=wishes.verbose, colour=wishes.colour, directory=wishes.report))
    return code or (UNREACHABLE if failures else CONFORMS)


async def examine(given: Instance, probe: bool, say: Callable[[str], object]) -> int:
    """Look whether a run could go well, and return the exit code."""
    if probe and given.admin.email:
        given = await _probed(given)
    is_well = await _interruptible(lambda: Doctor(given, say).examine())
    return CONFORMS if is_well else UNREACHABLE


async def _matrix(registry: Registry, given: Instance, options: Options, wishes: Wishes) -> Matrix:
    def tell(profile: str, _: Play, found: list[Finding]) -> None:
        for finding in found:
            if wishes.verbose or finding.outcome in ("fail", "error"):
                where = f"{profile}: " if profile else ""
                wishes.say(f"{finding.outcome:14} {where}{finding.id}\n")

    if wishes.profiles:
        profiles = [PROFILES[name] for name in wishes.profiles]
        return await run_matrix(registry, profiles, given, options, tell=tell)
    if wishes.probe:
        given = await _probed(given)
    result = await play_all(registry, given, options, tell=lambda play, found: tell("", play, found))
    return Matrix([result])


async def _probed(given: Instance) -> Instance:
    client = Client(given.base_url, Recorder("probing"), actor="nobody", verify_tls=given.network.verify_tls)
    try:
        return await detected(client, given)
    finally:
        await client.aclose()


async def _interruptible(work: Callable[[], Awaitable[T]]) -> T:
    """Do some work until it is done or a signal comes. Raises `Interrupted`, and what the work raises."""
    done: list[T] = []
    raised: list[Exception] = []

    async def do(scope: trio.CancelScope) -> None:
        try:
            done.append(await work())
        except Exception as error:
            raised.append(error)
        scope.cancel()

    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(do, nursery.cancel_scope)
            async for _ in signals:
                nursery.cancel_scope.cancel()
    if raised:
        raise raised[0]
    if not done:
        raise Interrupted
    return done[0]
