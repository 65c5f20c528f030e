"""Who is there, and who types, is told whichever of two servers somebody is at (extension I)."""

from __future__ import annotations

import pytest

from teamchat.testing import listening
from tests import presence_scenes as scenes
from tests.presence_scenes import ASKS
from tests.two_servers.nodes import Pair, fresh_email


@pytest.mark.slow  # A choice is looked for every six seconds.
async def test_i2_who_comes_hides_and_is_shut_out_at_one_server_is_shown_so_at_both(dev: Pair) -> None:
    admin, _ = await dev.signed_in()
    ada_at_a, ada_at_b = await dev.signed_in(fresh_email())
    bob_at_a, bob_at_b = await dev.signed_in(fresh_email())
    lookers = [ada_at_a, ada_at_b]
    async with listening(ada_at_b, ephemeral=ASKS) as told, listening(bob_at_a, ephemeral=ASKS) as of_bob:
        user = await scenes.comes_and_hides(lookers, told, bob_at_a, bob_at_b, of_bob)
        await scenes.is_shut_out(admin, lookers, told, user)


async def test_i3_typing_at_one_server_is_told_to_who_watches_and_sees_the_place_at_the_other(
    dev: Pair,
) -> None:
    ada_at_a, ada_at_b = await dev.signed_in(fresh_email())
    bob_at_a, bob_at_b = await dev.signed_in(fresh_email())
    cleo_at_a, cleo_at_b = await dev.signed_in(fresh_email())
    async with (
        listening(ada_at_b, ephemeral=ASKS) as ada,
        listening(bob_at_b, ephemeral=ASKS) as bob,
        listening(cleo_at_b, ephemeral=ASKS) as cleo,
    ):
        await scenes.types(ada_at_a, bob_at_a, cleo_at_a, {"ada": ada, "bob": bob, "cleo": cleo})
