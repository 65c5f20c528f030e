"""Several servers side by side, each started for what it alone can show.

A check is looked at in the first profile that meets its needs, and in every profile that
was made for it; a monitor looks on wherever anything happens.  A server that does not start takes nothing
from what the others show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import trio

from teamchat_conformance.instance import Instance
from teamchat_conformance.launch import Launcher, LaunchError, flat
from teamchat_conformance.profiles import Profile, described, keys_of
from teamchat_conformance.registry import Check, Play, Registry
from teamchat_conformance.runner import Options, Result, Unreachable, play_all
from teamchat_conformance.verdicts import Finding

JOBS = 3


@dataclass
class Matrix:
    """What came of a matrix: the runs in the order of their profiles, and why others could not begin."""

    results: list[Result] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


Tell = Callable[[str, Play, list[Finding]], None]


def plan(
    registry: Registry, profiles: Sequence[Profile], given: Instance, options: Options
) -> dict[str, frozenset[str]]:
    """Return which checks each profile is to look at."""
    wanted = {id for id, check in registry.checks.items() if options.selects(id, check.level)}
    monitored = {id for area in registry.areas for id in area.monitored} & wanted
    needs = _needs(registry)
    found: dict[str, frozenset[str]] = {}
    seen: set[str] = set()
    for profile in profiles:
        has = described(profile, given, port=lambda: 1).capabilities(
            slow=options.slow, load=options.load, launched=True
        )
        meets = {id for id in wanted if profile.may(id) and any(has.issuperset(one) for one in needs[id])}
        ids = {id for id in meets if profile.takes(id) or id not in seen}
        seen |= meets
        found[profile.name] = frozenset(ids | (monitored & meets) if ids - monitored else ())
    if profiles:  # what none can look at is told by the first, with what it lacks
        first = profiles[0].name
        found[first] |= wanted - seen
    return found


def _needs(registry: Registry) -> dict[str, list[tuple[str, ...]]]:
    """Return for each check what it needs, for each scenario that decides it."""
    checks: dict[str, Check] = registry.checks
    needs: dict[str, list[tuple[str, ...]]] = {id: [] for id in checks}
    for play in registry.plays():
        for id in play.ids:
            needs[id].append((*play.needs, *checks[id].needs))
    return {id: found or [checks[id].needs] for id, found in needs.items()}


async def run_matrix(
    registry: Registry,
    profiles: Sequence[Profile],
    given: Instance,
    options: Options,
    *,
    jobs: int = JOBS,
    tell: Tell = lambda *_: None,
) -> Matrix:
    """Start a server for each profile that has something to look at, and run there what is left to it."""
    planned = plan(registry, profiles, given, options)
    some = [profile for profile in profiles if planned[profile.name]]
    found: dict[str, Result] = {}
    failures: dict[str, str] = {}
    limit = trio.CapacityLimiter(jobs)

    async def one(profile: Profile) -> None:
        try:
            found[profile.name] = await _run(
                registry, profile, given, replace(options, ids=planned[profile.name]), tell
            )
        except (LaunchError, Unreachable) as error:
            failures[profile.name] = str(error)
        finally:
            limit.release_on_behalf_of(profile.name)

    async with trio.open_nursery() as nursery:
        for profile in some:
            await limit.acquire_on_behalf_of(profile.name)
            nursery.start_soon(one, profile)
    return Matrix([found[profile.name] for profile in some if profile.name in found], failures)


async def _run(registry: Registry, profile: Profile, given: Instance, options: Options, tell: Tell) -> Result:
    instance = described(profile, given)
    launcher = Launcher(given.launch, factor=given.timing.factor)
    port = int(instance.base_url.rpartition(":")[2])
    keys = {**keys_of(instance), **flat(given.launch.profiles.get(profile.name, {}))}
    async with launcher.serving(keys, port=port) as server:
        result = await play_all(
            registry, instance, options, profile=profile.name, launcher=launcher,
            tell=lambda play, found: tell(profile.name, play, found),
        )  # fmt: skip
        await server.stop()
        result.server_output = result.recorder.redact(server.said())
    return result
