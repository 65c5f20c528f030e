"""One run: set up, play every scenario, let the monitors have their say, clean up.

A failure of the server fails checks and nothing else; a failure of the suite is told
apart from it; and whatever happens, what was made is undone and everything found so far is reported.
"""

from __future__ import annotations

import fnmatch
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import trio

from teamchat_conformance.actors import Actor
from teamchat_conformance.capabilities import Announced, Interface
from teamchat_conformance.fixtures.mail import Sink
from teamchat_conformance.fixtures.provider import Provider
from teamchat_conformance.http import Recorder
from teamchat_conformance.instance import Instance
from teamchat_conformance.launch import Launcher
from teamchat_conformance.monitors import Monitors
from teamchat_conformance.registry import Play, Registry
from teamchat_conformance.run import Run, new_run_id
from teamchat_conformance.sse import Observer
from teamchat_conformance.verdicts import Finding, Miss, Verdicts, where

_UNDO_SECONDS = 30.0
_ALIVE = "NEG-ALIVE-01"
_PAUSES_BEFORE_GIVING_UP = (0.5, 1.0, 2.0, 4.0)
_SIGN_IN_PAUSES = (1.0, 3.0)  # few, for a wrong password counts with the server


class Unreachable(Exception):
    """The server can't be reached, or the suite can't get in. The message says what to do."""


@dataclass(frozen=True)
class Options:
    """What of the suite is to run, and how."""

    select: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    slow: bool = False
    load: bool = False
    keep: bool = False
    stop_at_first: bool = False
    seed: int = field(default_factory=lambda: secrets.randbelow(2**31))
    examples: int = 25
    steps: int = 30
    ids: frozenset[str] | None = None
    """Nothing but these checks, if given: those that a matrix leaves to this run."""

    def selects(self, id: str, level: str) -> bool:
        """Return whether a check is asked for."""
        if self.ids is not None and id not in self.ids:
            return False
        if self.areas and id.partition("-")[0] not in self.areas:
            return False
        if self.levels and level not in self.levels:
            return False
        if self.select and not any(fnmatch.fnmatchcase(id, pattern) for pattern in self.select):
            return False
        return not any(fnmatch.fnmatchcase(id, pattern) for pattern in self.skip)


@dataclass
class Result:
    """What a run found, and everything that is needed to tell it."""

    instance: Instance
    profile: str
    options: Options
    run_id: str
    findings: dict[str, Finding]
    recorder: Recorder
    observers: list[Observer]
    seconds: float
    left_over: list[str]
    server_output: str = ""
    announced: Announced = field(default_factory=Announced)


Tell = Callable[[Play, list[Finding]], None]


async def play_all(
    registry: Registry,
    instance: Instance,
    options: Options,
    *,
    profile: str = "",
    launcher: Launcher | None = None,
    tell: Tell = lambda *_: None,
) -> Result:
    """Run the suite against an instance that is there. Raises `Unreachable` if nothing can be begun.

    With a `launcher`, scenarios may start servers of their own.
    """
    recorder = Recorder(new_run_id())
    verdicts = Verdicts(recorder.last)
    capabilities = instance.capabilities(slow=options.slow, load=options.load, launched=launcher is not None)
    began = time.monotonic()
    async with _fixtures(instance) as (sink, provider):
        run = Run(
            instance, recorder, verdicts, capabilities=capabilities, sink=sink, provider=provider,
            seed=options.seed, examples=options.examples, steps=options.steps, launcher=launcher,
        )  # fmt: skip
        monitors = Monitors(run)
        left_over: list[str] = []
        try:
            await _prepare(run)
            run.interface = Interface.of(registry, run.announced)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(monitors.look_on)
                for play in registry.plays():
                    found = await _play(run, registry, play, options)
                    tell(play, found)
                    if options.stop_at_first and any(one.outcome in ("fail", "error") for one in found):
                        break
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
                left_over = [] if options.keep else await run.clean_up()
    for finding in monitors.findings(registry):
        check = registry.checks[finding.id]
        is_asked = capabilities.issuperset(check.needs) and not run.announced.lacks(check)
        if options.selects(check.id, check.level) and is_asked:
            verdicts.put(finding)
    _fill(registry, run, options)
    return Result(
        instance, profile, options, run.id, verdicts.findings, recorder, run.observers,
        time.monotonic() - began, left_over, announced=run.announced,
    )  # fmt: skip


@asynccontextmanager
async def _fixtures(instance: Instance) -> AsyncIterator[tuple[Sink | None, Provider | None]]:
    async with AsyncExitStack() as stack:
        sink = provider = None
        if instance.mail.kind == "builtin":
            sink = await stack.enter_async_context(Sink.serving(instance.mail))
        if instance.oauth.provider:
            provider = await stack.enter_async_context(Provider.serving(instance.oauth))
        yield sink, provider


async def _prepare(run: Run) -> None:
    """Find the server, sign the admin in, and make the users of the run."""
    try:
        await run.n.get("/health")  # whatever it answers, it is there; GEN-HLTH tells what is wrong with it
    except Miss as miss:
        raise Unreachable(f"Nothing answers at {run.instance.base_url}. {miss}") from None
    run.announced = Announced.told_by(await run.n.get("/capabilities"))
    if not run.instance.admin.email:
        raise Unreachable(
            "The suite needs an admin: give admin.email (and admin.password) in the description."
        )
    try:
        run.a = await _first_sign_in(run)
        run.b = await run.new_user("admin", name="admin B")
        run.u = await run.new_user(name="user U")
        run.v = await run.new_user(name="user V")
        run.w = await run.new_user(name="user W")
    except Miss as miss:
        raise Unreachable(f"The suite can't get in as an admin and make users. {miss}") from None
    except (KeyError, TypeError) as error:
        raise Unreachable(f"Sign-in or adding users answers in an unknown form ({error!r}).") from None


async def _first_sign_in(run: Run) -> Actor:
    """Sign the admin in; a server that has just started may need some seconds until that works."""
    for pause in _SIGN_IN_PAUSES:
        try:
            return await run.sign_in.admin()
        except Miss:
            await trio.sleep(run.wait(pause))
    return await run.sign_in.admin()


async def _play(run: Run, registry: Registry, play: Play, options: Options) -> list[Finding]:
    """Play one scenario and return the findings about its checks."""
    checks = (registry.checks[id] for id in play.ids)
    ids = [
        one.id
        for one in checks
        if options.selects(one.id, one.level)
        and run.has(*play.needs, *one.needs)
        and not run.announced.lacks(one)
    ]
    if not ids:
        return []
    if run.lost:
        return [run.verdicts.put(Finding(id, "blocked", run.lost)) for id in ids if id != _ALIVE]
    before = len(run.recorder.exchanges)
    run.recorder.scenario = play.name
    blocked, failure = "", ""
    made = run.made()
    with run.verdicts.only(frozenset(play.ids)):
        try:
            with trio.fail_after(run.wait(play.seconds)):
                await play.scenario(run)
        except* Miss as misses:
            blocked = str(_first(misses))
        except* Exception as errors:
            failure = where(errors)
    last = run.recorder.last()
    if not options.keep:
        await _undo(run, made)
    for id in set(play.ids) - set(ids):
        run.verdicts.findings.pop(id, None)
    for id in ids:
        if id not in run.verdicts.findings or failure:
            outcome = "error" if failure else "blocked" if blocked else "error"
            message = failure or blocked or "the scenario ended without deciding it"
            if id not in run.verdicts.findings:
                run.verdicts.put(Finding(id, outcome, message, [last]))  # type: ignore[arg-type]
    found = [run.verdicts.findings[id] for id in ids]
    was_cut_off = any(one.failure for one in run.recorder.exchanges[before:])
    if (was_cut_off or any(map(_could_not_connect, found))) and await _is_gone(run):
        _tell_of_the_end(run, registry, found)
    return [run.verdicts.findings[id] for id in ids]


async def _is_gone(run: Run) -> bool:
    """Return whether nothing answers any more, having asked for some seconds: a server may be restarted."""
    for pause in _PAUSES_BEFORE_GIVING_UP:
        try:
            await run.n.get("/health")
        except Miss:
            await trio.sleep(run.wait(pause))
        else:
            return False
    return True


def _could_not_connect(finding: Finding) -> bool:
    return any(words in finding.message for words in ("(ConnectError)", "can't connect"))


def _tell_of_the_end(run: Run, registry: Registry, found: Iterable[Finding]) -> None:
    """Say that the server has ended, and let no check fail for not reaching it but the one that it lives."""
    answered = [one for one in run.recorder.exchanges if one.status]
    last = answered[-1] if answered else None
    after = f"; the last answer was to {last.method} {last.target}, in {last.scenario}" if last else ""
    run.lost = f"nothing answers any more{after}"
    for finding in filter(_could_not_connect, found):
        run.verdicts.put(Finding(finding.id, "blocked", run.lost))
    if _ALIVE in registry.checks:
        run.verdicts.put(Finding(_ALIVE, "fail", run.lost, [last.number] if last else []))


async def _undo(run: Run, since: int) -> None:
    """Undo what a scenario has made; what takes too long is for the end."""
    run.recorder.scenario = "clean-up"
    with trio.move_on_after(run.wait(_UNDO_SECONDS)):
        await run.undo(since)


def _fill(registry: Registry, run: Run, options: Options) -> None:
    """Say of every check that was not decided why."""
    verdicts, capabilities = run.verdicts, run.capabilities
    needs_of: dict[str, list[tuple[str, ...]]] = {}
    for play in registry.plays():
        for id in play.ids:
            needs_of.setdefault(id, []).append(play.needs)
    for id, check in registry.checks.items():
        if id in verdicts.findings:
            continue
        if not options.selects(id, check.level):
            verdicts.put(Finding(id, "skipped", "not selected"))
            continue
        wanted = set(check.needs).union(*needs_of.get(id, [()]))
        missing = sorted(wanted - capabilities)
        if lacking := run.announced.lacks(check):
            verdicts.put(Finding(id, "not-applicable", lacking))
        elif missing:
            verdicts.put(Finding(id, "not-applicable", f"needs {', '.join(missing)}"))
        else:
            verdicts.put(Finding(id, "not-exercised", "nothing happened that it looks at"))


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group
