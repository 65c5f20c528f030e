"""What the fake is played as, once for all tests: every sign-in mode, as it should be and as a contrarian."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import trio

from conformance.tests.support import played
from teamchat_conformance.runner import Options, Result

SIGN_IN = ("AUTH-TOK-*", "DEV-*", "MAGIC-*", "PWD-*", "SESS-*", "OAUTH-*", "USER-*")
ROOMS = ("CHAN-*", "MSG-*", "REACT-*", "THR-*", "CONV-*", "IMG-*", "HOOK-*")
HEAVY = (
    "SSE-LIFE-*",
    "SSE-RESUME-0[1235]",
    "SSE-ORDER-*",
    "SSE-TIME-*",
    "SSE-CONN-06",
    "GEN-HTTP-07",
    "NEG-RACE-*",
)
"""What takes long, is the same however one signs in, and is played against the real server."""

RACES = ("USER-DEL-04", "USER-EXIT-04")
"""What takes many users and is the same however they sign in."""


@dataclass(frozen=True)
class World:
    """A kind of instance, and which checks are played in it; none selected are all."""

    kind: str
    select: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("required",)
    contrary: bool = False
    mutations: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        what = ("contrary" if self.contrary else "", *self.mutations)
        return ", ".join((self.kind, *filter(None, what)))


AGELESS = World(
    "password short",
    ("SESS-REF-07", "SESS-LIFE-02"),
    mutations=("refresh-never-expires", "jwt-never-expires"),
)
"""A mutant that is played here, for it takes long to see that a token does not end."""
WORLDS = (
    World("dev", skip=HEAVY, levels=()),
    World("dev open", ("DEV-*", "USER-*"), RACES),
    World("password", (*SIGN_IN, "NEG-JSON-0?", "NEG-TYPE-07", "NEG-TYPE-08", "SSE-OPEN-05"), RACES),
    World("password open", ("PWD-*", "USER-*", "NEG-JSON-07"), RACES),
    World("password short", ("AUTH-TOK-06", "SESS-*", "SSE-OPEN-04")),
    World("magic", (*SIGN_IN, "NEG-JSON-0?"), RACES),
    World("magic open", ("MAGIC-*",)),
    World("magic short", ("MAGIC-VER-05",)),
    World("oauth", ("OAUTH-*", "ERR-*")),
    World("oauth open", ("OAUTH-*",)),
    World("dev", skip=(*HEAVY, *ROOMS, "NEG-*", "PROP-*"), levels=(), contrary=True),
    World("dev open", ROOMS, skip=("IMG-UP-1*",), levels=(), contrary=True),
    World("password", SIGN_IN, RACES, contrary=True),
    World("magic", ("MAGIC-*",), contrary=True),
    World("oauth", ("OAUTH-*",), contrary=True),
)


async def play_all_worlds() -> dict[str, Result]:
    """Play every world, all at the same time, since much of it is waiting."""
    results: dict[str, Result] = {}
    async with trio.open_nursery() as nursery:
        for world in (*WORLDS, AGELESS):
            nursery.start_soon(partial(_play, world, results))
    return results


async def _play(world: World, results: dict[str, Result]) -> None:
    options = Options(
        select=world.select, skip=world.skip, levels=world.levels, seed=1, examples=10, steps=15
    )
    results[world.name] = await played(
        world.kind, options=options, contrary=world.contrary, mutations=world.mutations
    )
