"""Makes a program that failed as short as it can be, by playing it again with parts left out.

A step keeps the handle of what it makes, so the rest means the same without it; a step
on something that is no longer made is left out too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.properties._area import Wrong
from teamchat_conformance.model import Step, World

if TYPE_CHECKING:
    from teamchat_conformance.checks.properties.playing import Player

_MOST_SECONDS = 15.0


async def shorten(player: Player, check: str) -> None:
    """Leave out of the program that failed a check what it needs not to fail; for some seconds at most."""
    steps = player.failed[check].steps
    size = len(steps) // 2
    with trio.move_on_after(_MOST_SECONDS):
        while size:
            at = 0
            while at < len(steps):
                fewer = steps[:at] + steps[at + size :]
                if await _fails(player, check, fewer):
                    steps = player.failed[check].steps
                else:
                    at += size
            size //= 2


async def _fails(player: Player, check: str, steps: list[Step]) -> bool:
    """Play steps again and tell whether the check fails by fewer of them than it did."""
    before = len(player.failed[check].steps)
    try:
        await player.begin(steps)
        await player.check()
    except Wrong as wrong:
        return wrong.check == check and len(player.failed[check].steps) < before
    return False


def has_sense(step: Step, world: World) -> bool:
    """Return whether everything that a step is about is there."""
    target = world.things.get(step.target)
    if step.actor not in world.users or (step.target and (target is None or not target.is_known)):
        return False
    return step.op not in ("talk to", "remove user") or step.word in world.users
