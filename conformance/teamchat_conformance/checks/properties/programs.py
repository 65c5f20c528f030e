"""PROP-MODEL, PROP-EVT: random programs of several users, judged by the model and by what observers heard.

Hypothesis draws from the model alone and runs in a thread of its own; every step is
played back in Trio.  A seed draws the same programs again on any server.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import trio
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from teamchat_conformance.checks.properties._area import DECIDED_BY_PROGRAMS, Wrong, area
from teamchat_conformance.checks.properties.playing import Player
from teamchat_conformance.checks.properties.shortening import shorten
from teamchat_conformance.checks.stream._area import listening_to
from teamchat_conformance.model import Step, World
from teamchat_conformance.verdicts import Finding, Miss

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MOST_SECONDS = 90.0
_MOST_GUESTS = 2
_WORDS = ("👍", "❤️", "yes")
_TARGETS = {
    "rename channel": ("channel",),
    "delete channel": ("channel",),
    "post": ("channel",),
    "edit": ("message",),
    "delete": ("message",),
    "react": ("message",),
    "unreact": ("message",),
    "reply": ("message",),
    "edit reply": ("reply",),
    "delete reply": ("reply",),
    "direct": ("conversation",),
    "edit direct": ("direct",),
    "delete direct": ("direct",),
    "make webhook": ("channel",),
    "delete webhook": ("webhook",),
    "webhook posts": ("webhook",),
}
_WEIGHTS = {
    "post": 4,
    "edit": 4,
    "react": 6,
    "unreact": 3,
    "reply": 4,
    "edit reply": 3,
    "talk to": 2,
    "direct": 4,
    "edit direct": 2,
    "webhook posts": 2,
}
"""How much likelier than all others some operations are."""

_KINDLY = 3
"""How much likelier what may be done is than what may not, and what somebody else has begun than news."""


class Enough(BaseException):
    """The time for programs is over: Hypothesis is to try no more."""


def candidates(world: World, op: str) -> list[int]:
    """Return what an operation may be tried on: the dead too, but not conversations with those who left."""
    gone = frozenset(world.gone_users)

    def fits(handle: int) -> bool:
        thing = world.things[handle]
        return not (thing.pair or world.things.get(thing.place, thing).pair) & gone

    return [handle for handle in world.of(*_TARGETS[op], alive=False) if fits(handle)]


def possible(world: World) -> list[str]:
    """Return the operations that can be tried now, some of them more than once, for they are frequent."""
    guests = [name for name in world.users if name.startswith("G")]
    ops = ["make channel", "talk to", *_TARGETS]
    ops += ["rename", "remove user", "exit"] if guests else []
    ops += ["add user"] if len(guests) + len(world.gone_users) < _MOST_GUESTS else []
    return [
        one for op in ops if op not in _TARGETS or candidates(world, op) for one in [op] * _WEIGHTS.get(op, 1)
    ]


def _aims(world: World, op: str) -> list[int]:
    """Return what an operation may be tried on; the living more often, and most often what is talked of."""
    found = candidates(world, op)
    living = [handle for handle in found if world.things[handle].is_alive]
    busy = [handle for handle in living if any(world.things[handle].reactions.values())]
    return found + _KINDLY * (living + (busy if op in ("react", "unreact") else living[-2:]))


def _askers(world: World, op: str, target: int) -> list[str]:
    """Return who may try an operation; more often those who may do it."""
    may = [name for name in world.users if world.judge(Step(op, name, target)) == "allow"]
    return world.users + may * (_KINDLY * len(world.users) // max(len(may), 1))


def _reactions(world: World, op: str, actor: str, target: int) -> list[str]:
    """Return reactions to give or take back; more often those that others have given, or one has oneself."""
    given = world.things[target].reactions
    likely = [word for word, who in given.items() if who and (actor in who) == (op == "unreact")]
    return [*_WORDS, *likely * 2 * _KINDLY]


@st.composite
def _steps(draw: st.DrawFn, world: World) -> Step:
    """Draw one step that can be tried in this world, by anybody."""
    op = draw(st.sampled_from(possible(world)))
    guests = [name for name in world.users if name.startswith("G")]
    target = draw(st.sampled_from(_aims(world, op))) if op in _TARGETS else 0
    actor = draw(st.sampled_from(guests if op in ("rename", "exit") else _askers(world, op, target)))
    word = ""
    if op in ("react", "unreact"):
        word = draw(st.sampled_from(_reactions(world, op, actor, target)))
    elif op == "talk to":
        word = draw(st.sampled_from([name for name in world.users if name != actor]))
    elif op == "add user":
        word = f"G{len(guests) + len(world.gone_users) + 1}"
    elif op == "remove user":
        word = draw(st.sampled_from(guests))
    return Step(op, actor, target, word)


def machine_of(player: Player, until: float) -> type[RuleBasedStateMachine]:
    """Return the machine that draws the programs for a player."""

    class Programs(RuleBasedStateMachine):
        @initialize()
        def begin(self) -> None:
            if time.monotonic() > until:
                raise Enough
            player.number += 1
            trio.from_thread.run(player.begin)

        @rule(data=st.data())
        def step(self, data: st.DataObject) -> None:
            step = data.draw(_steps(player.program.world))
            trio.from_thread.run(player.play, step)

        def teardown(self) -> None:
            trio.from_thread.run(player.check)

    return Programs


def _play_all(player: Player, seconds: float) -> None:
    """Have programs drawn and played; again without what has failed, if something has."""
    until, run = time.monotonic() + seconds, player.run
    chosen = settings(
        max_examples=run.examples,
        stateful_step_count=run.steps,
        deadline=None,
        database=None,
        verbosity=Verbosity.quiet,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    while time.monotonic() < until:
        player.muted = frozenset(player.failed)
        with suppress(Wrong, Flaky, Enough), warnings.catch_warnings():
            # Another thread may draw from `random` meanwhile; Hypothesis takes that for the machine's doing.
            warnings.filterwarnings("ignore", "Do not use the `random` module inside strategies")
            run_state_machine_as_test(seed(run.seed)(machine_of(player, until)), settings=chosen)
        new = player.failed.keys() - player.muted
        for check in new:
            trio.from_thread.run(shorten, player, check)
        if not new:
            return


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Have Hypothesis keep what it keeps in a folder that is gone afterwards."""
    with TemporaryDirectory() as home:
        set_hypothesis_home_dir(home)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


@area.scenario(*DECIDED_BY_PROGRAMS)
async def random_programs(run: Run) -> None:
    async with listening_to(run, run.a, run.u, run.v, run.w) as observers:
        player = Player(run, dict(zip("AUVW", observers, strict=True)))
        with nothing_kept():
            await trio.to_thread.run_sync(_play_all, player, run.wait(_MOST_SECONDS))
    for check in DECIDED_BY_PROGRAMS:
        if check in player.failed:
            with run.verdict(check):
                raise Miss(f"{player.failed[check]}\n  --seed {run.seed}")
        elif player.looked[check]:
            with run.verdict(check) as finding:
                over = f" of {run.examples}; then the time was over" if player.number < run.examples else ""
                finding.message = f"{player.number} programs{over}"
        else:
            run.verdicts.put(Finding(check, "not-exercised", "no program came to it"))
